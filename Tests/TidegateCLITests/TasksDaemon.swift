import Foundation
import Testing
import TidegateTestKit

/// `tidegate serve` with a place of its own, and `tidegate tasks` against it.
final class TasksDaemon {
    let path = "/tmp/tidegate-tasks-\(UUID().uuidString.prefix(8))"
    private var program: Program?

    var socket: String { "\(self.path)/run/control.sock" }

    func start() async throws {
        let program = try Program([
            BuiltProduct.path(of: "tidegate"), "serve", "--web.listen-address", "127.0.0.1:0", "--state.dir",
            "\(self.path)/state", "--control.socket", self.socket,
        ])
        self.program = program
        let isUp = await eventually {
            program.errorsSoFar.contains("msg=\"control socket listening\"")
        }
        try #require(isUp, "\(program.errorsSoFar)")
    }

    func tasks(_ arguments: String...) async throws -> Program.Output { try await self.tasks(list: arguments) }

    func tasks(list arguments: [String]) async throws -> Program.Output {
        try await Program.run(
            [BuiltProduct.path(of: "tidegate"), "tasks"] + arguments + ["--control.socket", self.socket])
    }

    func watch(_ command: [String] = ["watch", "--json"]) throws -> Program {
        try Program(
            [BuiltProduct.path(of: "tidegate"), "tasks"] + command + ["--control.socket", self.socket])
    }

    func stop(_ signal: Int32 = SIGTERM) async -> Program.Output? {
        self.program?.signal(signal)
        return await self.program?.finish()
    }

    func file(_ name: String) -> String { "\(self.path)/\(name)" }

    deinit {
        self.program?.signal(SIGKILL)
        try? FileManager.default.removeItem(atPath: self.path)
    }

    static func id(_ output: Program.Output) throws -> String {
        #expect(output.status == 0, "\(output)")
        return try #require(output.output.split(separator: "\n").first.map(String.init), "\(output)")
    }
}
