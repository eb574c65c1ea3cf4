import ArgumentParser
import Testing
import Tidegate

@testable import TidegateCLI

@Suite struct BadInputTests {
    static let cases: [([String], String)] = [
        (
            ["explain", "ftp://a.example/"],
            "\"ftp://a.example/\" is not an http:// or https:// URL"
        ),
        (["explain", "http:///x"], "\"http:///x\" names no host that can be asked: \"\" names no host"),
        (["explain", "a.example:99999"], "\"99999\" in \"a.example:99999\" is not a port from 1 to 65535"),
        (
            ["explain", "https://a.example:0/"],
            "\"https://a.example:0/\" names no host that can be asked: \"0\" in \"a.example:0\" is not a port from 1 to 65535"
        ),
        (["explain", "fe80::1%nosuch"], "the zone \"nosuch\" in \"fe80::1%nosuch\" names no interface"),
        (["explain", "fe80::1%4294967295"], "the zone \"4294967295\" in \"fe80::1%4294967295\" names no interface"),
        (
            ["explain", "http://[fe80::1%nosuch]/"],
            "\"http://[fe80::1%nosuch]/\" names no host that can be asked: the zone \"nosuch\" in \"[fe80::1%nosuch]\" names no interface"
        ),
        (["explain", "http://::1/"], "the IPv6 address in \"http://::1/\" must be in brackets: [::1]"),
        (
            ["explain", "https://b\u{FFFD}cher.example/"],
            "\"https://b\u{FFFD}cher.example/\" names no host that can be asked: \"b\u{FFFD}cher.example\" has characters that no host name has"
        ),
        (
            ["explain", "b\u{FFFD}cher.example:443"],
            "\"b\u{FFFD}cher.example\" has characters that no host name has"
        ),
        (
            ["connections", "--remote", "nonsense"],
            "--remote: \"nonsense\" is neither an address nor a network (such as 10.0.0.0/8 or 2001:db8::/32)"
        ),
        (["connections", "--port", "70000"], "--port: 70000 is not a port from 1 to 65535"),
        (["connections", "--port", "0"], "--port: 0 is not a port from 1 to 65535"),
        (["connections", "-4", "-6"], "-4 and -6 are mutually exclusive"),
        (["connections", "--json", "--by", "owner"], "--by and --json are mutually exclusive"),
        (["connections", "--owner", "--by", "gateway"], "--owner and --by gateway are mutually exclusive"),
        (["explain", "-4", "-6", "a.example"], "-4 and -6 are mutually exclusive"),
        (["explain", "--brief", "--json"], "--brief and --json are mutually exclusive"),
        (
            ["explain", "--for", "soon", "a.example"],
            "--for: \"soon\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
        ),
        (["explain", "--for", "11m", "a.example"], "--for: at most 10 minutes"),
        (["explain", "--for", "3s"], "--for requires a target"),
        (["explain", "--for", "3s", "-q", "a.example"], "--for and --quiet are mutually exclusive"),
        (["explain", "--brief", "-v"], "--brief and --verbose are mutually exclusive"),
        (["explain", "--brief", "-q"], "--brief and --quiet are mutually exclusive"),
        (["explain", "a.example", "--timeout", "0"], "--timeout: \"0\" is not a finite duration greater than 0"),
        (
            ["explain", "a.example", "--timeout", "soon"],
            "--timeout: \"soon\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
        ),
        (
            ["explain", "a.example", "--internet-check", "a.example"],
            "--internet-check: \"a.example\" is not an http:// or https:// URL"
        ),
        (
            ["wait", "--for", "online"],
            "--for: \"online\" is not a condition; conditions are carrier, address, route, gateway, dns, internet, host and URLs"
        ),
        (["wait", "--for", "host:"], "--for: \"host:\" names no host"),
        (["wait", "--for", "dns:"], "--for: \"dns:\" names no host"),
        (
            ["run", "--for", "dns:::1", "--", "ls"],
            "--for: \"::1\" in \"dns:::1\" is not a name; wait for an address with host:"
        ),
        (["wait", "--for", "https:///x"], "--for: \"https:///x\" names no host that can be asked: \"\" names no host"),
        (["wait", "--for", "ssh://a/"], "--for: \"ssh://a/\" is not an http:// or https:// URL"),
        (["wait", "--for", "host"], "--for: \"host\" names no host"),
        (["wait", "--for", "host::22"], "--for: \":22\" names no host"),
        (["wait", "--for", "host:a:0"], "--for: \"0\" in \"a:0\" is not a port from 1 to 65535"),
        (["wait", "--for", "host:a:65536/tls"], "--for: \"65536\" in \"a:65536\" is not a port from 1 to 65535"),
        (["wait", "--for", "host:a/tcp"], "--for: the check \"tcp\" in \"host:a/tcp\" needs a port"),
        (
            ["wait", "--for", "gateway:v4"],
            "--for: \"v4\" in \"gateway:v4\" is not allowed; choose the family with -4 or -6"
        ),
        (
            ["wait", "--for", "host:[fe80::1%nosuch]:22"],
            "--for: the zone \"nosuch\" in \"[fe80::1%nosuch]:22\" names no interface"
        ),
        (
            ["wait", "--for", "host:\u{FFFD}.example"],
            "--for: \"\u{FFFD}.example\" has characters that no host name has"
        ),
        (
            ["wait", "--for", "route", "--timeout", "5x"],
            "--timeout: \"5x\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
        ),
        (
            ["wait", "--for", "route", "--timeout", "-1s"],
            "missing value for '--timeout <duration>' (see tidegate wait --help)"
        ),
        (
            ["status", "--target", "fe80::1%nosuch"],
            "--target: the zone \"nosuch\" in \"fe80::1%nosuch\" names no interface"
        ),
        (["run"], "no command specified; give it after --"),
        (["run", "ls"], "no command specified; give it after --"),
        (
            ["run", "--for", "nonsense", "--", "ls"],
            "--for: \"nonsense\" is not a condition; conditions are carrier, address, route, gateway, dns, internet, host and URLs"
        ),
        (["run", "--retry", "10000", "--", "ls"], "--retry: 10000 is out of range (0 to 9999)"),
        (
            ["run", "--retry", "many", "--", "ls"],
            "the value 'many' is invalid for '--retry <n>' (see tidegate run --help)"
        ),
        (
            ["run", "--timeout", "1 h", "--", "ls"],
            "--timeout: \"1 h\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
        ),
        (["tasks", "submit", "http://a/", "-o", ""], "-o: \"\" is not a file name"),
        (["tasks", "submit", "http://a/", "-o", "x/"], "-o: \"x/\" is not a file name"),
        (["tasks", "submit", "http://a/b", "--output-dir", ""], "--output-dir: directory name is empty"),
        (["fetch", "http://a/b", "--output-dir", ""], "--output-dir: directory name is empty"),
        (["tasks", "submit", "http://a/", "--key", ""], "--key: key is empty"),
        (["tasks", "submit", "http://a/", "--on-duplicate", "keep"], "--on-duplicate requires --key"),
        (
            ["tasks", "submit", "http://a/", "--key", "k", "--on-duplicate", "maybe"],
            "the value 'maybe' is invalid for '--on-duplicate <policy>'. Please provide one of 'keep', 'replace' or 'append'."
        ),
        (["tasks", "submit", "http://a/", "--retry", "10000"], "--retry: 10000 is out of range (0 to 9999)"),
        (
            ["tasks", "submit", "http://a/", "--require", "up"],
            "--require: \"up\" is not one of none, routed, online, unmetered, interface:NAME"
        ),
        (
            ["tasks", "submit", "http://a/", "--data", "a", "--json-body", "{}"],
            "--data and --json-body are mutually exclusive"
        ),
        (
            ["fetch", "http://a/", "--require", "up"],
            "--require: \"up\" is not one of none, routed, online, unmetered, interface:NAME"
        ),
        (
            ["explain", "127.0.0.1:443/path"],
            "\"443/path\" in \"127.0.0.1:443/path\" is not a port from 1 to 65535; as a URL it is https://127.0.0.1:443/path"
        ),
    ]

    @Test("A usage error is one line that quotes the value, and the status is 2", arguments: Self.cases)
    func messages(_ arguments: [String], _ message: String) {
        do {
            _ = try TidegateCommand.parseAsRoot(arguments)
            Issue.record("\(arguments) was accepted")
        } catch {
            let result = ProgramExit(error, parsedBy: TidegateCommand.self)
            #expect(result.errorMessage == "tidegate: \(message)")
            #expect(result.status == 2 && result.output == nil)
        }
    }

    @Test(
        "A zone may be a name or a number, and unusual but valid arguments are accepted",
        arguments: [
            ["explain", "fe80::1%lo"], ["explain", "fe80::1%1"], ["explain", "http://[fe80::1%lo]:8080/x?y#z"],
            ["explain", "http://[fe80::1%25lo]/"], ["wait", "--for", "http://[fe80::1%25lo]/"],
            ["explain", "HTTPS://User:secret@A.Example"], ["explain", "--brief", "a.example", "b.example"],
            ["explain", "xn--bcher-kva.example"],
            ["wait", "--for", "host:[fe80::1%lo]:22"], ["wait", "--for", "carrier:nosuch0"],
            ["run", "--timeout", "inf", "--retry", "0", "--", "ls", "--for"], ["wait"],
            ["wait", "--for", "dns:db.example", "--for", "https://[::1]:8443/health", "--cacert", "ca.pem"],
        ])
    func accepted(_ arguments: [String]) {
        #expect(throws: Never.self) { _ = try TidegateCommand.parseAsRoot(arguments) }
    }

    @Test("The URL to explain has no user information and no fragment")
    func subjects() throws {
        let parse = TargetText.parseSubject
        #expect(try parse("HTTPS://user:secret@A.Example/x?y#z").description == "https://a.example/x?y")
        #expect(try parse("http://[::1]:8080").target.description == "[::1]:8080")
        #expect(try parse("https://a.example/").target.port == 443)
        #expect(try parse("a.example").target.port == nil)
        #expect(try parse("https://a.example:443/").target.description == "a.example:443")
    }

    @Test("The default check URLs are used only for the condition internet")
    func internetCheck() throws {
        #expect(try WaitCommand.parse(["--for", "route"]).parsed().internetCheck == .off)
        #expect(
            try WaitCommand.parse(["--for", "internet"]).parsed().internetCheck.urls.map(\.text)
                == InternetCheckOptions.defaultURLs)
        let custom = try WaitCommand.parse(["--for", "internet", "--internet-check", "http://a.example/204"]).parsed()
        #expect(custom.internetCheck.urls.map(\.text) == ["http://a.example/204"])
    }
}
