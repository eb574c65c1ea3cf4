import Glibc
import Testing
import TidegateCore
@testable import TidegateNetwork

/// resolv.conf(5), parsed as by glibc.
@Suite struct ResolverSettingsTests {
    private func read(_ text: String) -> ResolverSettings {
        ResolverSettings(parsing: text) { $0 == "eth0" ? 7 : nil }
    }

    @Test(
        "Servers are parsed as by glibc",
        arguments: [
            ("nameserver 10.0.0.1\n", ["10.0.0.1"]),
            ("nameserver\t10.0.0.1   # trailing\nnameserver 2001:db8::1\n", ["10.0.0.1", "2001:db8::1"]),
            (
                "nameserver 1.1.1.1\nnameserver 2.2.2.2\nnameserver 3.3.3.3\nnameserver 4.4.4.4",
                ["1.1.1.1", "2.2.2.2", "3.3.3.3"]
            ),
            (
                "nameserver fe80::1%eth0\nnameserver fe80::2%3\nnameserver fe80::3%gone",
                ["fe80::1%7", "fe80::2%3", "fe80::3"]
            ),
            ("nameserver 2001:db8::1%eth0", ["2001:db8::1"]),
            ("nameserver 127.1\nnameserver 0x0a000001", ["127.0.0.1", "10.0.0.1"]),
            ("#nameserver 1.1.1.1\n;nameserver 2.2.2.2\n nameserver 3.3.3.3\nNAMESERVER 4.4.4.4", ["127.0.0.1"]),
            ("nameserver\nnameserver \nnameserver10.0.0.1\nnameserver one.example", ["127.0.0.1"]),
            ("nameserver 10.0.0.256\nnameserver 10.0.0.1,10.0.0.2\nnameserver [::1]", ["127.0.0.1"]),
            ("nameserver 10.0.0.1\r\nnameserver 10.0.0.2\r\n", ["127.0.0.1"]),
            ("", ["127.0.0.1"]),
            ("\0\0\u{FFFD}\n\u{7F}ELF\nsearch\noptions", ["127.0.0.1"]),
        ] as [(String, [String])])
    func nameservers(_ text: String, _ expected: [String]) {
        #expect(self.read(text).nameservers.map(\.description) == expected)
    }

    @Test("The last of search and domain wins")
    func search() {
        #expect(self.read("search a.test b.test\ndomain c.test d.test").search == ["c.test"])
        #expect(self.read("domain c.test\nsearch\ta.test\tb.test").search == ["a.test", "b.test"])
        #expect(self.read("search a.test\nsearch").search == ["a.test"])
        #expect(self.read("").search.isEmpty)
    }

    @Test("Options are clamped to glibc's bounds, and unknown ones ignored")
    func options() {
        #expect(self.read("options ndots:3 timeout:2 attempts:4 rotate edns0 trust-ad\n").ndots == 3)
        #expect(self.read("options edns0 use-vc").usesTCP && !self.read("options use-vcx").usesTCP)
        #expect(self.read("options ndots:99 timeout:999999999999").ndots == 15)
        #expect(self.read("options ndots:-4 timeout:0").ndots == 0)
        #expect(self.read("options ndots rotated timeout").ndots == 1)
        #expect(self.read("options timeout:3\noptions ndots:2").ndots == 2)
    }

    @Test("A name is tried unchanged and in the search list, in an order that depends on its dots")
    func candidates() {
        let settings = self.read("search a.test b.test\noptions ndots:2")
        #expect(settings.candidates(for: "api") == ["api.a.test", "api.b.test", "api"])
        #expect(settings.candidates(for: "api.x.y") == ["api.x.y", "api.x.y.a.test", "api.x.y.b.test"])
        #expect(settings.candidates(for: "api.") == ["api."])
        #expect(self.read("search .").candidates(for: "api") == ["api", "api"])
        #expect(self.read("").candidates(for: "api") == ["api"])
    }

    @Test("The servers behind systemd-resolved's stub are known too")
    func stub() throws {
        let folder = try TemporaryDirectory()
        var files = ResolverFiles()
        (files.configuration, files.upstreams) = (folder.path("resolv.conf"), folder.path("upstreams"))
        #expect(files.read().nameservers == [IPAddress(ipv4: 0x7F00_0001)], "there is no file yet")
        try folder.write("nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n", to: "resolv.conf")
        #expect(
            files.read().finalServers == [IPAddress(ipv4: 0x7F00_0035)], "only the stub, until the other file exists")
        let four = ["10.0.0.1", "10.0.0.2", "2001:db8::1", "10.0.0.4"]
        try folder.write(four.map { "nameserver \($0)\n" }.joined(), to: "upstreams")
        let settings = files.read()
        #expect(settings.nameservers == [IPAddress(ipv4: 0x7F00_0035)] && settings.hasStub)
        #expect(settings.finalServers.map(\.description) == four)
        try folder.write("nameserver 127.0.0.53\nnameserver 9.9.9.9\n", to: "resolv.conf")
        #expect(files.read().finalServers.map(\.description) == four + ["9.9.9.9"])
        try folder.write("nameserver 9.9.9.9\n", to: "resolv.conf")
        #expect(files.read().upstreams.isEmpty, "without the stub its servers do not count")
    }

    @Test("A pipe or a directory in place of resolv.conf does not block")
    func oddFiles() throws {
        let folder = try TemporaryDirectory()
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        let usual = [IPAddress(ipv4: 0x7F00_0001)]
        for name in ["pipe", ""] {
            var files = ResolverFiles()
            files.configuration = folder.path(name)
            #expect(files.read().nameservers == usual)
        }
    }
}
