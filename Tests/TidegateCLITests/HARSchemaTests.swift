import Foundation
import Testing
import TidegateTestKit

/// Archives as the program writes them, checked by the published schema of HAR 1.2.
@Suite(.enabled(if: HARSchema.isAvailable, "python3-jsonschema is not installed"), .timeLimit(.minutes(5)))
struct HARSchemaTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "tidegate-har-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true) }

    /// The archive of a `fetch`, whatever its transfers end with.
    private func fetch(_ arguments: [String]) async throws -> String {
        let file = self.folder.appending(path: "\(UUID().uuidString).har").path
        let options = ["-q", "--discard", "--retry", "0", "--parallel", "1", "--har", file]
        let output = try await Program.run([BuiltProduct.path(of: "tidegate"), "fetch"] + options + arguments)
        try #require(output.status < 2, "\(arguments): \(output)")
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    private static func entries(_ archive: String) throws -> [[String: Any]] {
        let object = try JSONSerialization.jsonObject(with: Data(archive.utf8)) as? [String: Any]
        return try #require((object?["log"] as? [String: Any])?["entries"] as? [[String: Any]])
    }

    @Sendable private static func answer(_ request: LiveServerRequest) -> LiveServerAnswer {
        switch request.path.prefix(while: { $0 != "?" }) {
        case "/old": return .respond(302, ["Location: /new?a=b", "Set-Cookie: sid=1; Path=/; Secure", "Set-Cookie: x"])
        case "/missing": return .respond(404, ["Content-Type: text/plain; charset=utf-8"], text: "no")
        case "/bytes": return .respond(body: [0xFF, 0, 0xC0])
        case "/empty": return LiveServerAnswer([.send(LiveServerAnswer.head(204, []))])
        case "/cut": return LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 9"])), .close])
        case "/reset": return LiveServerAnswer([.reset])
        case "/noise": return LiveServerAnswer([.send(Array("SSH-2.0-tide\r\n".utf8)), .close])
        case "/hang": return LiveServerAnswer([.hang])
        default: return .respond(200, ["Content-Type: text/plain"], text: "done")
        }
    }

    // What is fetched, with how many entries each archive has.
    private static func runs(_ url: String, _ file: String, refused: String) -> [(arguments: [String], entries: Int)] {
        let paths = ["/old?q=1&page&=&a=b=c", "/missing", "/bytes", "/empty", "/cut", "/reset", "/noise"]
        return [
            (paths.map { url + $0 } + [refused], 9), (["-X", "HEAD", url + "/"], 1),
            (["--data", "a=b", "-H", "Cookie: a=1; b; c=2", "-u", "me:word", url + "/"], 1),
            (["--json-body", "{\"a\":[1]}", url + "/old"], 2), (["-T", file, url + "/"], 1),
            (["-F", "a=b", "-F", "f=@\(file);type=text/x-tide;filename=g", "-F", "t=<\(file)", url + "/"], 1),
            (["--http2", url + "/a|b?c={d}&e=\"f\"&g=^`\\"], 1), ([url + "/%zz/ü?ü"], 1),
        ]
    }

    @Test("What fetch --har writes is valid, with and without secrets, whatever the transfers end with")
    func fetched() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let server = try LiveServer(answer: Self.answer)
        defer { server.stop() }
        let farther = try Program(["python3", "-u", "-m", "http.server", "0", "--bind", "::1"])
        defer { farther.signal(SIGTERM) }
        let found = await eventualValue { farther.outputSoFar.firstMatch(of: /port ([0-9]+)/)?.output.1 }
        let port = try #require(found)
        let file = self.folder.appending(path: "body").path
        try Data([0x61, 0xFF]).write(to: URL(fileURLWithPath: file))
        let runs =
            Self.runs("http://127.0.0.1:\(server.port)", file, refused: "http://127.0.0.1:1/")
            + [(["http://[::1]:\(port)/"], 1), (["http://[::1%25lo]:\(port)/"], 1)]
        for secrets in [[], ["--show-secrets"]] {
            var archives: [String] = []
            for run in runs {
                let archive = try await self.fetch(secrets + run.arguments)
                #expect(try Self.entries(archive).count == run.entries, "\(run.arguments)")
                archives.append(archive)
            }
            for (run, problems) in zip(runs, try await HARSchema.problems(in: archives)) {
                #expect(problems == [], "\(run.arguments)")
            }
        }
    }

    @Test("What tasks show --as har prints is valid before, during and after a run, and after a restart")
    func shown() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let server = try LiveServer(answer: Self.answer)
        defer { server.stop() }
        let daemon = TasksDaemon()
        try await daemon.start()
        var archives: [String: String] = [:]
        func show(_ moment: String, _ id: String) async throws {
            for secrets in [[], ["--show-secrets"]] {
                let output = try await daemon.tasks(list: ["show", id, "--as", "har"] + secrets)
                #expect(output.status == 0, "\(output)")
                archives["\(moment) \(secrets)"] = output.output
            }
        }
        let waiting = try TasksDaemon.id(try await daemon.tasks("submit", server.url("/?a=b"), "--suspended"))
        let hanging = try TasksDaemon.id(try await daemon.tasks("submit", server.url("/hang")))
        let form = try TasksDaemon.id(
            try await daemon.tasks("submit", server.url("/old"), "--form", "a=b", "-H", "Cookie: a=1"))
        let failed = try TasksDaemon.id(try await daemon.tasks("submit", server.url("/missing")))
        for id in [form, failed] { _ = try await daemon.tasks("wait", id) }
        #expect(await eventually { server.requests.contains { $0.path == "/hang" } })
        for (name, id) in [("waiting", waiting), ("hanging", hanging), ("form", form), ("failed", failed)] {
            try await show(name, id)
        }
        _ = await daemon.stop()
        try await daemon.start()
        for (name, id) in [("form", form), ("failed", failed)] { try await show("\(name) later", id) }
        _ = await daemon.stop()
        let names = archives.keys.sorted()
        #expect(try Self.entries(archives["form []"] ?? "").count == 2)
        #expect(try Self.entries(archives["hanging []"] ?? "").count == 1)
        for (name, problems) in zip(names, try await HARSchema.problems(in: names.compactMap { archives[$0] })) {
            #expect(problems == [], "\(name)")
        }
    }

    @Test("An archive without a required member, or with a member of another type, is found to be broken")
    func broken() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let server = try LiveServer(answer: Self.answer)
        defer { server.stop() }
        let archive = try await self.fetch(["--show-secrets", "-F", "a=b", "-H", "Cookie: a=1", server.url("/old?q=1")])
        let whole = try JSONSerialization.jsonObject(with: Data(archive.utf8))
        let variants = HARVariants.all(of: whole)
        let texts = try variants.map {
            String(decoding: try JSONSerialization.data(withJSONObject: $0.value), as: UTF8.self)
        }
        #expect(variants.count > 100)
        for (variant, problems) in zip(variants, try await HARSchema.problems(in: [archive] + texts).dropFirst()) {
            #expect(!problems.isEmpty, "\(variant.name)")
        }
    }
}

/// An archive with one thing broken in each.
private enum HARVariants {
    // Members that an archive may leave out.
    private static let optional: Set<String> = [
        "comment", "serverIPAddress", "postData", "text", "encoding", "value", "fileName", "contentType", "blocked",
        "dns", "connect", "ssl",
    ]

    static func all(of value: Any, at path: String = "") -> [(name: String, value: Any)] {
        if let members = value as? [String: Any] {
            return members.flatMap { name, member in
                var variants = self.all(of: member, at: "\(path)/\(name)")
                variants.append(("\(path)/\(name) of another type", member is String ? 1 : "text"))
                var found = variants.map { variant in
                    (variant.name, members.merging([name: variant.value]) { $1 } as Any)
                }
                if !self.optional.contains(name) || path.hasSuffix("headers/0") || path.hasSuffix("cookies/0") {
                    found.append(("\(path)/\(name) missing", members.filter { $0.key != name }))
                }
                found.append(("\(path)/\(name) misspelt", members.merging(["\(name)s": member]) { $1 }))
                return found
            }
        }
        guard let elements = value as? [Any] else { return [] }
        return elements.enumerated().flatMap { number, element in
            self.all(of: element, at: "\(path)/\(number)").map { variant in
                var changed = elements
                changed[number] = variant.value
                return (variant.name, changed as Any)
            }
        }
    }
}
