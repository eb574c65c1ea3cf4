import Foundation
import Testing
import TidegateTestKit

/// What is exported of requests, as the program is run.
@Suite(.timeLimit(.minutes(5)))
struct ExportProgramTests {
    private static let tidegate = BuiltProduct.path(of: "tidegate")

    private func fetch(_ arguments: String...) async throws -> Program.Output {
        try await Program.run([Self.tidegate, "fetch"] + arguments)
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    private static func entries(_ text: String) throws -> [[String: Any]] {
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return try #require((object?["log"] as? [String: Any])?["entries"] as? [[String: Any]])
    }

    @Test("fetch -v prints notes, what is sent and what comes, without secrets; the body alone is on standard output")
    func verbose() async throws {
        let server = try LiveServer { request in
            request.path.hasPrefix("/old")
                ? .respond(302, ["Location: /new"]) : .respond(200, ["X-Color: \u{1B}[31mred\u{9B}0m"], text: "body")
        }
        defer { server.stop() }
        let output = try await self.fetch(
            "-v", "--progress", "none", "-u", "me:hidden", "-H", "cookie: hidden", server.url("/old?key=hidden"))
        #expect(output.status == 0 && output.output == "body")
        let lines = output.errors.split(separator: "\n").map(String.init)
        #expect(lines.allSatisfy { ["* ", "> ", "< "].contains($0.prefix(2)) }, "\(lines)")
        #expect(lines.contains("> GET /old?key=REDACTED HTTP/1.1") && lines.contains("> GET /new HTTP/1.1"))
        #expect(lines.contains("> Authorization: Basic REDACTED") && lines.contains("> cookie: REDACTED"))
        #expect(lines.contains("< HTTP/1.1 302 Test") && lines.contains("< HTTP/1.1 200 Test"))
        #expect(lines.contains { $0.hasPrefix("* Connected to 127.0.0.1") })
        #expect(lines.contains("< X-Color: \\u{1b}[31mred\\u{9b}0m") && !output.errors.contains("\u{1B}"))
        #expect(!output.errors.contains("hidden") && !output.errors.contains("bWU6aGlkZGVu"))
        let open = try await self.fetch("-v", "--show-secrets", "--discard", "-u", "me:hidden", server.url())
        #expect(open.errors.contains("> Authorization: Basic bWU6aGlkZGVu"))
    }

    @Test("fetch --har writes an entry for each request of every transfer, failed ones included")
    func har() async throws {
        let server = try LiveServer { request in
            switch request.path {
            case "/old": .respond(302, ["Location: /new"])
            case "/missing": .respond(404, text: "no")
            default: .respond(text: "body")
            }
        }
        defer { server.stop() }
        try await self.withFolder { folder in
            let output = try await self.fetch(
                "-q", "--har", "\(folder)/a.har", "--discard", "--parallel", "1", server.url("/old"),
                server.url("/missing"))
            #expect(output.status == 1)
            let entries = try Self.entries(try String(contentsOfFile: "\(folder)/a.har", encoding: .utf8))
            let status = entries.compactMap { ($0["response"] as? [String: Any])?["status"] as? Int }
            #expect(status.sorted() == [200, 302, 404])
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a.har"])
        }
    }

    @Test("An archive that cannot be written is refused before anything is requested")
    func unwritable() async throws {
        let server = try LiveServer { _ in .respond(text: "body") }
        defer { server.stop() }
        try await self.withFolder { folder in
            let cases = [
                ("\(folder)/no/a.har", 1, "the directory \(folder)/no does not exist"),
                (folder, 1, "\(folder) is a directory"), ("", 2, "\"\" is not a file name"),
            ]
            for (file, status, message) in cases {
                let output = try await self.fetch("--har", file, server.url())
                #expect(output.status == Int32(status) && output.errors == "tidegate: --har: \(message)\n", "\(output)")
            }
            #expect(server.requests.isEmpty)
            let full = try await self.fetch("-q", "--har", "/dev/full", server.url())
            #expect(full.status == 1 && full.output == "body", "what was asked for is there")
            #expect(full.errors == "tidegate: --har: /dev/full: write: No space left on device\n")
        }
    }

    @Test(
        "Options that say opposite things are refused",
        arguments: [
            (["-q", "-v"], "--quiet and --verbose are mutually exclusive"),
            (["--show-secrets"], "--show-secrets requires --verbose or --har"),
        ])
    func conflicts(_ options: [String], _ message: String) async throws {
        let output = try await Program.run([Self.tidegate, "fetch"] + options + ["http://127.0.0.1:1/"])
        #expect(output.status == 2 && output.errors == "tidegate: \(message)\n")
    }

    @Test("A task's request can be had as a command and as an archive, without secrets unless they are asked for")
    func export() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let daemon = TasksDaemon()
        try await daemon.start()
        let url = server.url("/p?key=hidden")
        let id = try TasksDaemon.id(
            try await daemon.tasks("submit", url, "-H", "Cookie: hidden", "--json-body", "{\"it's\":1}"))
        #expect(try await daemon.tasks("wait", id).status == 0)
        let curl = try await daemon.tasks("show", id, "--as", "curl")
        #expect(
            curl.output.hasPrefix("curl -X POST -H 'Cookie: REDACTED' -H 'Content-Type: application/json' "),
            "\(curl)")
        #expect(curl.output.contains("--data-raw REDACTED") && !curl.output.contains("hidden"))
        let open = try await daemon.tasks("show", id, "--as", "curl", "--show-secrets")
        #expect(open.output.contains("'Cookie: hidden'") && open.output.contains("key=hidden"))
        #expect(open.output.contains(#"--data-raw '{"it'\''s":1}'"#))
        let har = try await daemon.tasks("show", id, "--as", "har")
        #expect(har.output.hasPrefix(#"{"log":{"version":"1.2","creator":{"name":"tidegate","#), "\(har)")
        #expect(har.output.contains(#""text":"REDACTED""#) && !har.output.contains("hidden"))
        #expect(try await daemon.tasks("show", id, "--as", "curl", "--json").status == 2)
        #expect(try await daemon.tasks("show", id, "--show-secrets").status == 2)
        _ = await daemon.stop()
        try await daemon.start()
        let later = try await daemon.tasks("show", id, "--as", "curl", "--show-secrets")
        #expect(
            later.output == "# the query, the header fields and the body are not kept any more\n"
                + "curl -X POST --globoff \(server.url("/p"))\n")
        #expect(try await daemon.tasks("show", id, "--as", "har").output.contains("are not kept any more"))
        _ = await daemon.stop()
    }
}
