import Foundation
import Testing
import TidegateTestKit

/// `tidegate tasks` against a running daemon.
@Suite(.timeLimit(.minutes(5)))
struct TasksTests {
    /// A daemon with a place of its own.
    private final class Daemon {
        let path = "/tmp/tidegate-tasks-\(UUID().uuidString.prefix(8))"
        private var program: Program?

        var socket: String { "\(self.path)/run/control.sock" }

        func start() async throws {
            let program = try Program([
                BuiltProduct.path(of: "tidegate"), "serve", "--web.listen-address", "127.0.0.1:0", "--state.dir",
                "\(self.path)/state", "--control.socket", self.socket,
            ])
            self.program = program
            let isUp = await eventually(within: .seconds(20)) {
                program.errorsSoFar.contains("msg=\"control socket listening\"")
            }
            try #require(isUp, "\(program.errorsSoFar)")
        }

        func tasks(_ arguments: String...) async throws -> Program.Output {
            try await Program.run(
                [BuiltProduct.path(of: "tidegate"), "tasks"] + arguments + ["--control.socket", self.socket])
        }

        func watch() throws -> Program {
            try Program([
                BuiltProduct.path(of: "tidegate"), "tasks", "watch", "--json", "--control.socket", self.socket,
            ])
        }

        func stop(_ signal: Int32 = SIGTERM) async -> Program.Output? {
            self.program?.signal(signal)
            return await self.program?.finish(within: .seconds(12))
        }

        func file(_ name: String) -> String { "\(self.path)/\(name)" }

        deinit {
            self.program?.signal(SIGKILL)
            try? FileManager.default.removeItem(atPath: self.path)
        }
    }

    private static func id(_ output: Program.Output) throws -> String {
        #expect(output.status == 0, "\(output)")
        return try #require(output.output.split(separator: "\n").first.map(String.init), "\(output)")
    }

    @Test("Tasks are submitted once for a key, shown, rested, let go and cancelled; kill -9 loses none")
    func steer() async throws {
        let server = try LiveServer { .pattern(1000, for: $0) }
        defer { server.stop() }
        let daemon = Daemon()
        try await daemon.start()
        let url = server.url("/x")
        let rests = try Self.id(
            await daemon.tasks("submit", url, "--suspended", "--key", "k", "-o", daemon.file("x")))
        let again = try await daemon.tasks("submit", url, "--key", "k")
        #expect(try Self.id(again) == rests)
        #expect(again.errors == "tidegate: key \"k\" exists, keeping its task\n")
        let next = try Self.id(await daemon.tasks("submit", url, "--key", "k", "--on-duplicate", "append"))
        #expect(next != rests)
        let list = try await daemon.tasks("list")
        #expect(list.status == 0 && list.output.contains(rests) && list.output.contains(next), "\(list)")
        let shown = try await daemon.tasks("show", next)
        #expect(shown.output.contains("waiting(schedule)"), "\(shown)")

        _ = await daemon.stop(SIGKILL)
        #expect(try await daemon.tasks("list").status == 1)
        try await daemon.start()
        #expect(try await daemon.tasks("show", rests).output.contains("suspended"))
        #expect(server.requests.isEmpty)
        #expect(try await daemon.tasks("resume", rests).status == 0)
        let isDone = try await eventually { try await daemon.tasks("show", next).output.contains("success") }
        #expect(isDone)
        #expect(FileManager.default.contents(atPath: daemon.file("x"))?.count == 1000)
        #expect(server.requests.count == 2)

        let old = try Self.id(await daemon.tasks("submit", url, "--suspended", "--key", "r"))
        let new = try Self.id(
            await daemon.tasks("submit", url, "--suspended", "--key", "r", "--on-duplicate", "replace"))
        #expect(try await daemon.tasks("show", old, "--json").output.contains("\"outcome\":\"cancelled\""))
        let cancelled = try await daemon.tasks("cancel", new)
        #expect(cancelled.status == 0 && cancelled.output == "\(new) cancelled\n", "\(cancelled)")
        let stopped = await daemon.stop()
        #expect(stopped?.status == 0, "\(stopped?.errors ?? "")")
    }

    @Test("Watchers hear the tasks, then what happens, until the daemon ends")
    func watch() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let daemon = Daemon()
        try await daemon.start()
        let watching = try daemon.watch()
        #expect(await eventually { watching.outputSoFar.contains("\"event\":\"snapshot\"") })
        let id = try Self.id(await daemon.tasks("submit", server.url("/w")))
        let isReported = await eventually {
            watching.outputSoFar.contains("\"event\":\"task.completed\"") && watching.outputSoFar.contains(id)
        }
        #expect(isReported, "\(watching.outputSoFar)")
        #expect(await daemon.stop()?.status == 0)
        let output = await watching.finish(within: .seconds(10))
        #expect(output.status == 1 && output.errors == "tidegate: the daemon closed the connection\n", "\(output)")
    }

    @Test("What cannot be done ends with the right code and one sentence, and nothing is kept")
    func refusals() async throws {
        let daemon = Daemon()
        let nobody = try await daemon.tasks("list")
        #expect(nobody.status == 1)
        #expect(
            nobody.errors == "tidegate: no daemon is listening on the control socket \(daemon.socket); start one with "
                + "\"tidegate serve\"\n")
        try await daemon.start()
        let unknown = "00000000-0000-7000-8000-000000000000"
        for arguments in [["show", unknown], ["cancel", unknown], ["suspend", unknown], ["resume", "x"]] {
            let output = try await daemon.tasks(arguments[0], arguments[1])
            #expect(output.status == 1 && output.errors == "tidegate: no such task: \(output.named(arguments[1]))\n")
        }
        let newline = try await daemon.tasks("submit", "http://127.0.0.1:9/", "-H", "X-A: a\nX-B: b")
        #expect(newline.status == 2 && newline.errors.contains("contains a control character"), "\(newline)")
        for url in ["http//x", "ftp://127.0.0.1/", "http://"] {
            let output = try await daemon.tasks("submit", url)
            #expect(output.status == 2 && output.errors.hasPrefix("tidegate: "), "\(output)")
        }
        let vanished = try await daemon.tasks("submit", "http://127.0.0.1:9/", "--upload-file", daemon.file("none"))
        #expect(vanished.status == 1 && vanished.errors.contains(daemon.file("none")), "\(vanished)")
        let folder = try await daemon.tasks("submit", "http://127.0.0.1:9/", "-o", daemon.path)
        #expect(folder.status == 1 && folder.errors.contains("is a directory"), "\(folder)")
        let digest = try await daemon.tasks("submit", "http://127.0.0.1:9/", "--sha256", "12")
        #expect(digest.status == 2 && digest.errors.contains("64 hexadecimal digits"), "\(digest)")
        #expect(try await daemon.tasks("list").output == "no tasks\n")
        let second = try await Program.run([
            BuiltProduct.path(of: "tidegate"), "serve", "--web.listen-address", "127.0.0.1:0", "--state.dir",
            daemon.file("state"), "--control.socket", daemon.file("other.sock"),
        ])
        #expect(second.status == 1)
        #expect(second.errors.contains("uses the state directory \(daemon.file("state"))"), "\(second.errors)")
        #expect(await daemon.stop()?.status == 0)
        #expect(!FileManager.default.fileExists(atPath: daemon.socket))
    }

    @Test("fetch holds a body to its SHA-256, and says which it had")
    func digest() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let file = "/tmp/tidegate-sha-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let sum = "1ab895a0fe23ed7237b69d1f45dcf0148df94de8f18f9a0f9a9a4d7f3c6e3b53"
        let fetch = [BuiltProduct.path(of: "tidegate"), "fetch", server.url("/abc"), "-o", file, "--write-out", "json"]
        let wrong = try await Program.run(fetch + ["--sha256", sum])
        #expect(wrong.status == 1 && wrong.output.contains("\"reason\":\"digestMismatch\""), "\(wrong)")
        #expect(!FileManager.default.fileExists(atPath: file))
        let had = try #require(
            wrong.output.firstRange(of: "\"sha256\":\"").map { wrong.output[$0.upperBound...].prefix(64) })
        let good = try await Program.run(fetch + ["--sha256", had.uppercased()])
        #expect(good.status == 0 && good.output.contains("\"sha256\":\"\(had)\""), "\(good)")
        let bad = try await Program.run(fetch + ["--sha256", "zz"])
        #expect(bad.status == 2 && bad.errors.contains("--sha256: \"zz\" is not a SHA-256"), "\(bad)")
    }
}

extension Program.Output {
    /// How a refusal names a task.
    fileprivate func named(_ id: String) -> String { self.errors.contains("\"\(id)\"") ? "\"\(id)\"" : id }
}
