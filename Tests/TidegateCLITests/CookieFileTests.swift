import Foundation
import Testing
import TidegateTestKit

/// Cookies of files, as the program is run.
@Suite(.timeLimit(.minutes(5)))
struct CookieFileTests {
    private static func line(_ name: String, _ value: String) -> String {
        "127.0.0.1\tFALSE\t/\tFALSE\t0\t\(name)\t\(value)\n"
    }

    private func fetch(_ arguments: [String]) async throws -> Program.Output {
        try await Program.run([BuiltProduct.path(of: "tidegate"), "fetch", "-q", "--discard"] + arguments)
    }

    @Test("--cookie sends the cookies of a file and does not change it; --cookie-jar goes before it, and is written")
    func files() async throws {
        let server = try LiveServer { _ in .respond(200, ["Set-Cookie: c=new"]) }
        defer { server.stop() }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, jar) = (folder.appendingPathComponent("read"), folder.appendingPathComponent("jar"))
        let cookies = Self.line("a", "1") + Self.line("b", "2")
        try cookies.write(to: file, atomically: true, encoding: .utf8)
        #expect(try await self.fetch(["-b", file.path, server.url()]).status == 0)
        try Self.line("b", "3").write(to: jar, atomically: true, encoding: .utf8)
        #expect(try await self.fetch(["--cookie", file.path, "--cookie-jar", jar.path, server.url()]).status == 0)
        let sent = server.requests.compactMap { $0.field("cookie")?.components(separatedBy: "; ") }.map(Set.init)
        #expect(sent == [["a=1", "b=2"], ["a=1", "b=3"]])
        #expect(try String(contentsOf: file, encoding: .utf8) == cookies)
        let written = try String(contentsOf: jar, encoding: .utf8)
        #expect(["a\t1\n", "b\t3\n", "c\tnew\n"].allSatisfy(written.contains))
    }

    @Test("Skipped lines are reported with their numbers, the first ten one by one")
    func skipped() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let text = Self.line("a", "1") + String(repeating: "{\"value\": \"s3cret\"}\n", count: 12)
        try text.write(to: file, atomically: true, encoding: .utf8)
        let output = try await self.fetch(["-b", file.path, server.url()])
        let warnings = (2...11).map { ":\($0): the cookie is skipped: expected 7 fields, separated by tabs" }
        let expected = (warnings + [": 2 more lines are skipped"]).map { "tidegate: warning: \(file.path)\($0)\n" }
        #expect(output.status == 0 && output.errors == expected.joined(), "\(output)")
        #expect(server.requests.first?.field("cookie") == "a=1")
    }

    @Test(
        "What is no file is refused before anything is sent",
        arguments: [
            ("/no/such", "--cookie: /no/such cannot be read: No such file or directory"),
            ("a=b", "--cookie: takes a file; use -H 'Cookie: NAME=VALUE' for cookies"),
        ])
    func refused(_ file: String, _ message: String) async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let output = try await self.fetch(["--cookie", file, server.url()])
        #expect(output.status == 2 && output.errors == "tidegate: \(message)\n")
        #expect(server.requests.isEmpty)
    }
}
