import Foundation
import Synchronization
import Testing
import TidegateCore
import TidegateIncidents
import TidegateTestKit

@testable import TidegateDaemon

/// The operator's command for incidents: whatever it does, the next incident gets its turn.
@Suite struct IncidentCommandTests {
    private final class Ends: Sendable {
        let failures = Mutex<[String?]>([])
    }

    /// Notifies a command of incidents, and returns how its runs ended once there are `count`.
    private func notify(_ arguments: [String], _ incidents: [Incident], count: Int) async throws -> [String?] {
        let ends = Ends()
        let command = IncidentCommand(arguments, time: SystemTime()) { failure in
            ends.failures.withLock { $0.append(failure) }
        }
        for incident in incidents { command.notify(of: incident) }
        let run = Task { await command.run() }
        defer { run.cancel() }
        try #require(await eventually { ends.failures.withLock { $0.count } >= count })
        return ends.failures.withLock { $0 }
    }

    private func incident(_ id: String, end: WallTime? = nil) -> Incident {
        let finding = Incident.Finding(party: .upstream, cause: "it's \"silent\"; $(reboot)", certainty: .probable)
        var incident = Incident(id: id, .network, name: nil, finding, start: WallTime(microseconds: 1))
        incident.end = end
        return incident
    }

    @Test("It gets the newest state of each incident as JSON on its standard input, one at a time, without a shell")
    func input() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("got").path
        let end = WallTime(microseconds: 2_000_000)
        let ends = try await self.notify(
            ["/usr/bin/tee", "-a", file], [incident("a"), incident("b"), incident("a", end: end)], count: 2)
        #expect(ends == [nil, nil])
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        let values = try lines.map { try JSONValue(parsing: $0.utf8) }
        #expect(values.map { $0["id"] } == [.string("a"), .string("b")])
        #expect(values[0]["end"] == .string(end.description) && values[1]["end"] == .null)
        #expect(values[1]["cause"] == .string("it's \"silent\"; $(reboot)"))
    }

    @Test("The command has the incident, no output, and no descriptor of this process")
    func descriptors() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: file) }
        // As swift-nio and libcurl open them: without the close-on-exec flag, and at any number.
        let own = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let high = fcntl(own, F_DUPFD, 900)
        defer { for descriptor in [own, high] { close(descriptor) } }
        try #require(own > 2 && high >= 900)
        // Python opens the file after the standard descriptors, and finds it among them.
        let program = "import sys\nsys.stdout = open('\(file)', 'w')\n\(ShownDescriptors.program)"
        #expect(try await self.notify(["/usr/bin/python3", "-c", program], [incident("a")], count: 1) == [nil])
        let shown = try JSONDecoder().decode([String: String].self, from: Data(contentsOf: URL(filePath: file)))
        #expect(shown["0"]?.contains("memfd:incident") == true, "\(shown)")
        #expect(shown.filter { $0.key != "0" } == ["1": "/dev/null", "2": "/dev/null", "3": file], "\(shown)")
    }

    @Test(
        "A command that fails, is missing, floods its output or does not read says so at most, and the next one runs",
        arguments: [
            (["/bin/sh", "-c", "exit 3"], "/bin/sh ended with status 3"),
            (["/bin/sh", "-c", "kill -9 $$"], "/bin/sh ended with signal 9"),
            (["/nowhere/command"], "/nowhere/command: No such file or directory"),
            (["/usr/bin/head", "-c", "100000000", "/dev/zero"], nil), (["/bin/true"], nil),
        ])
    func fails(arguments: [String], failure: String?) async throws {
        #expect(try await self.notify(arguments, [incident("a"), incident("b")], count: 2) == [failure, failure])
    }

    @Test("A command that hangs is killed with its children after its time")
    func hangs() async throws {
        let start = ContinuousClock.now
        let ends = try await self.notify(["/bin/sh", "-c", "sleep 1234.5 & sleep 1234.5"], [incident("a")], count: 1)
        #expect(ends == ["/bin/sh took longer than 30 s"] && ContinuousClock.now - start >= IncidentCommand.limit)
        let children = try await Program.run(["pgrep", "--full", "--exact", "sleep 1234.5"])
        #expect(children.status == 1, "\(children.output)")
    }

    private struct SystemTime: TimeSource {
        func wall() -> WallTime { WallTime(microseconds: 10_000_000) }
        func monotonic() -> MonotonicTime { MonotonicTime(nanoseconds: 1) }
    }
}
