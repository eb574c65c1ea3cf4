import Foundation
import Testing
import TidegateCore
import TidegateTestKit

/// A daemon with a configuration, whose log has everything.
final class ConfiguredDaemon {
    let path = "/tmp/tidegate-limits-\(UUID().uuidString.prefix(8))"
    private let program: Program

    /// Starts it with files in its folder, which the configuration calls FOLDER.
    init(
        configuration: String, files: [String: String] = [:], descriptors: Int? = nil, prefix: [String] = [],
        arguments: [String] = [], environment: [String: String] = [:]
    ) async throws {
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        for (name, text) in files.merging(["c.yml": configuration], uniquingKeysWith: { $1 }) {
            try Self.write(text, to: name, in: self.path)
        }
        let limit = prefix + (descriptors.map { ["prlimit", "--nofile=\($0)"] } ?? [])
        let program = try Program(
            limit + [
                BuiltProduct.path(of: "tidegate"), "serve", "--config.file", "\(self.path)/c.yml", "--log.level",
                "debug", "--web.listen-address", "127.0.0.1:0", "--state.dir", "\(self.path)/state",
                "--control.socket", "\(self.path)/sock",
            ] + arguments.map { [path] in $0.replacing("FOLDER", with: path) }, environment: environment)
        self.program = program
        let isUp = await eventually {
            program.errorsSoFar.contains("msg=\"control socket listening\"")
        }
        try #require(isUp, "\(program.errorsSoFar)")
    }

    private static func write(_ text: String, to name: String, in folder: String) throws {
        let file = "\(folder)/\(name)"
        try text.replacing("FOLDER", with: folder).write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }

    func write(_ text: String, to name: String) throws { try Self.write(text, to: name, in: self.path) }

    var log: String { self.program.errorsSoFar }

    /// The port of the endpoint.
    var port: Int? {
        guard let found = self.log.firstMatch(of: /msg=listening address=127\.0\.0\.1:([0-9]+)/) else { return nil }
        return Int(found.1)
    }

    /// The control socket.
    var socket: String { "\(self.path)/sock" }

    func signal(_ number: Int32) { self.program.signal(number) }

    /// How much processor time the daemon has used (proc_pid_stat(5)).
    var processorSeconds: Double {
        let text = (try? String(contentsOfFile: "/proc/\(self.program.id)/stat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ")
        guard fields.count > 14 else { return 0 }
        return ((Double(fields[13]) ?? 0) + (Double(fields[14]) ?? 0)) / 100
    }

    /// The largest resident memory so far, in bytes (proc_pid_status(5)).
    var peakMemory: Int? {
        let text = (try? String(contentsOfFile: "/proc/\(self.program.id)/status", encoding: .utf8)) ?? ""
        return text.firstMatch(of: /VmHWM:\s+([0-9]+) kB/).flatMap { Int($0.1) }.map { $0 << 10 }
    }

    /// What the daemon holds of the host.
    var holdings: ProcessHoldings { get throws { try ProcessHoldings(of: self.program.id) } }

    /// The recorded incidents.
    func incidents() async throws -> [JSONValue] {
        let text = try await Program.expect([
            BuiltProduct.path(of: "tidegate"), "incidents", "list", "--json", "--state.dir", "\(self.path)/state",
            "--control.socket", "\(self.path)/sock",
        ])
        guard case .array(let incidents)? = try JSONValue(parsing: text.utf8)["incidents"] else { return [] }
        return incidents
    }

    func tasks(_ arguments: [String]) async throws -> Program.Output {
        try await Program.run(
            [BuiltProduct.path(of: "tidegate"), "tasks"] + arguments + ["--control.socket", "\(self.path)/sock"])
    }

    func submit(_ arguments: String..., url: String = "http://127.0.0.1:9/") async throws -> Program.Output {
        try await self.tasks(["submit", url] + arguments)
    }

    func stop() async -> Program.Output {
        self.program.signal(SIGTERM)
        return await self.program.finish()
    }

    deinit {
        self.program.signal(SIGKILL)
        try? FileManager.default.removeItem(atPath: self.path)
    }
}
