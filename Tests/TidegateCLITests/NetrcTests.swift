import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateCLI

/// Logins and passwords from a file.
@Suite(.timeLimit(.minutes(5)))
struct NetrcTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path

    init() throws { try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true) }

    private func write(_ text: String, mode: Int = 0o600) throws -> String {
        let path = "\(self.folder)/.netrc"
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    private func fetch(_ arguments: [String]) async throws -> Program.Output {
        try await Program.run(
            ["env", "HOME=\(self.folder)", BuiltProduct.path(of: "tidegate"), "fetch", "-q", "--discard"] + arguments)
    }

    @Test("Entries are read as netrc(5) says, macros, comments and quotation marks included")
    func entries() throws {
        let text = """
            # a comment
            machine A.test login ann password "one \\"two\\""  # not read
            machine b.test
              login bob
              account x
              password b
            macdef init
            machine c.test login no password no

            machine c.test login carl password c
            machine c.test login carol password d
            default login any password e
            """
        let netrc = try Netrc(text: text)
        #expect(netrc.credentials(for: "a.test") == Credentials(user: "ann", password: "one \"two\""))
        #expect(netrc.credentials(for: "b.test") == Credentials(user: "bob", password: "b"))
        #expect(netrc.credentials(for: "c.test") == Credentials(user: "carl", password: "c"))
        #expect(netrc.credentials(for: "c.test", login: "carol") == Credentials(user: "carol", password: "d"))
        #expect(netrc.credentials(for: "z.test") == Credentials(user: "any", password: "e"))
        #expect(try Netrc(text: "machine a.test login x password y").credentials(for: "b.test") == nil)
    }

    @Test("Keywords of other readers, line ends and the case of letters do not matter; other words are skipped")
    func tolerance() throws {
        let text = """
            # my hosts
            Machine a.test protocol https
             login ann PASSWORD a port 443
            machine b.test pasword x y
             login bob password b
            """
        for end in ["\n", "\r\n", "\r"] {
            let netrc = try Netrc(text: text.split(separator: "\n").joined(separator: end))
            let own = netrc.credentials(for: "a.test", over: ["https", "443"])
            #expect(own == Credentials(user: "ann", password: "a"))
            for other in [["http", "443"], ["https", "8443"], []] {
                #expect(netrc.credentials(for: "a.test", over: other) == nil, "another service's password")
            }
            #expect(netrc.credentials(for: "b.test") == Credentials(user: "bob", password: "b"))
            #expect(netrc.unknownLines == [4])
        }
    }

    @Test(
        "What is not understood is named by its line, and its text, which may be a secret, is not",
        arguments: [
            ("password hunter2", "1: password before any machine"),
            ("machine a password \"hunter2", "1: a quotation mark is not closed"),
        ])
    func bad(_ text: String, _ message: String) {
        #expect(throws: TextError(message)) { try Netrc(text: text) }
    }

    @Test("Only the host that is named gets the password, and -u goes before it")
    func hosts() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let file = try self.write("machine 127.0.0.1 login u password p\n")
        let localhost = server.url("/localhost").replacing("127.0.0.1", with: "localhost")
        let fetches: [(arguments: [String], authorization: String?)] = [
            (["-n", server.url("/n")], "Basic dTpw"),
            (["--netrc", server.url("/netrc")], "Basic dTpw"),
            (["--netrc-file", file, server.url("/file")], "Basic dTpw"),
            (["--netrc", "-u", "a:b", server.url("/user")], "Basic YTpi"),
            (["--netrc", localhost], nil),
            ([server.url("/none")], nil),
        ]
        for fetch in fetches {
            let output = try await self.fetch(fetch.arguments)
            #expect(output.status == 0 && output.errors.isEmpty, "\(output)")
        }
        let paths = ["/n", "/netrc", "/file", "/user", "/localhost", "/none"]
        // A request that another test sends to a port which it takes for a closed one is not one of these.
        let requests = server.requests.filter { paths.contains($0.path) }
        #expect(requests.map(\.path) == paths)
        #expect(requests.map { $0.field("authorization") } == fetches.map(\.authorization))
    }

    @Test("A file that every user may read is reported, and a skipped word; a missing file only if it was named")
    func permissions() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let none = try await self.fetch(["--netrc", server.url("/")])
        #expect(none.status == 0 && none.errors.isEmpty, "\(none)")
        let missing = try await self.fetch(["--netrc-file", "\(self.folder)/none", server.url("/")])
        #expect(missing.status == 2 && missing.errors.contains("\(self.folder)/none cannot be read"), "\(missing)")
        let file = try self.write("machine 127.0.0.1 login u password p\n", mode: 0o644)
        let warned = try await self.fetch(["--netrc", server.url("/")])
        #expect(warned.status == 0)
        let warning = "has secrets, and every user may read it (mode 0644): chmod o-rwx \(file)"
        #expect(warned.errors == "tidegate: warning: \(file) \(warning)\n")
        _ = try self.write("\u{FEFF}machine 127.0.0.1 login u\npassword p hunter2\n")
        let skipped = try await self.fetch(["--netrc", server.url("/skipped")])
        let expected = "a word is skipped: expected machine, default, login, password, account or macdef"
        #expect(skipped.errors == "tidegate: warning: \(file):2: \(expected)\n")
        #expect(server.requests.last { $0.path == "/skipped" }?.field("authorization") == "Basic dTpw")
        let headers = "\(self.folder)/headers"
        try "X-Key: k\n".write(toFile: headers, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: headers)
        let header = try await self.fetch(["-H", "@\(headers)", server.url("/")])
        #expect(header.errors.hasPrefix("tidegate: warning: \(headers) has secrets") && header.errors.contains("0604"))
    }
}
