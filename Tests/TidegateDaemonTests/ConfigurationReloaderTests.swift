import Foundation
import Logging
import Synchronization
import Testing
import Tidegate
import TidegateCore
import TidegateTestKit

@testable import TidegateDaemon
@testable import TidegateServer

/// Reading the configuration file of a running process again.
@Suite struct ConfigurationReloaderTests {
    private static let good = "modules:\n  http_2xx: {prober: http, timeout: 5s}\n"

    private let bus = EventBus(time: SystemClock())
    private let received = RecordingSink()
    private let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yml").path
    private let applied = AppliedConfigurations()

    init() { self.bus.attach(self.received) }

    private func reloader(
        apply: (@Sendable (Configuration) async -> Void)? = nil
    ) throws -> ConfigurationReloader {
        ConfigurationReloader(
            file: self.file, started: try Configuration.parse(Self.good, file: "start.yml"),
            status: ReloadStatus(bus: self.bus), logger: Logger(label: "t") { _ in SwiftLogNoOpLogHandler() },
            apply: apply ?? { [applied = self.applied] in applied.add($0) })
    }

    private func write(_ text: String) throws { try text.write(toFile: self.file, atomically: true, encoding: .utf8) }

    private var reported: [Bool] {
        self.received.events.compactMap { event in
            if case .daemon(.configurationLoaded(let isGood)) = event.payload { isGood } else { nil }
        }
    }

    @Test("A valid file is applied and reported, and what needs a restart is named until there is one")
    func valid() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.file) }
        let reloader = try self.reloader()
        try self.write(Self.good + "events: {history: 7}\n")
        for _ in 1...2 { #expect(try await reloader.answer() == ["events"]) }
        try self.write(Self.good)
        #expect(try await reloader.answer().isEmpty)
        #expect(self.applied.all.map(\.events.history) == [7, 7, EndpointConfiguration().eventHistory])
        #expect(self.reported == [true, true, true])
    }

    @Test("A file that has not changed is read and applied all the same, and counts as a success")
    func unchanged() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.file) }
        let reloader = try self.reloader()
        try self.write(Self.good)
        #expect(try await reloader.answer().isEmpty)
        #expect(self.applied.all == [try Configuration.parse(Self.good, file: "start.yml")])
        #expect(self.reported == [true])
    }

    @Test("An invalid file applies nothing; its first problem has its line, and the others are counted")
    func invalid() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.file) }
        let reloader = try self.reloader()
        try self.write("modules:\n  http_2xx: {prober: http}\n  b: {prober: htp}\n  c: {prober: tcp, timeout: soon}\n")
        let failure = await #expect(throws: ReloadFailure.self) { try await reloader.answer() }
        #expect(failure?.problem.hasPrefix("\(self.file):3: modules.b.prober: ") == true, "\(failure?.problem ?? "")")
        #expect(failure?.others == 1)
        #expect(self.applied.all.isEmpty && self.reported == [false])
        try FileManager.default.removeItem(atPath: self.file)
        let missing = await #expect(throws: ReloadFailure.self) { try await reloader.answer() }
        #expect(missing?.problem.hasPrefix(self.file) == true && missing?.others == 0)
        #expect(self.reported == [false, false])
    }

    @Test(
        "The endpoint quotes at most 200 bytes of a file, and no line of a file that is none of ours",
        arguments: [
            ("root:$6$hunter2:20228:0:99999:7:::\ndaemon:*:20228::::::\n", ":1: unknown key"),
            ("root:x:0:0:hunter2:/root:/bin/bash\n", ":1: expected a mapping, found a text"),
            ("-----BEGIN KEY-----\nhunter2\n-----END KEY-----\n", ":1: expected a mapping, found a text"),
            ("transfers: {proxy: \"\(String(repeating: "x", count: 500))\"}\n", "..."),
        ])
    func foreign(_ text: String, _ end: String) async throws {
        defer { try? FileManager.default.removeItem(atPath: self.file) }
        let reloader = try self.reloader()
        try self.write(text)
        let failure = await #expect(throws: ReloadFailure.self) { try await reloader.answer() }
        let problem = try #require(failure?.problem)
        #expect(problem.hasSuffix(end) && problem.utf8.count <= 200 && !problem.contains("hunter2"), "\(problem)")
    }

    @Test("Reloads that come together run one after the other")
    func oneAtATime() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.file) }
        let running = RunningReloads()
        let reloader = try self.reloader { _ in
            running.begin()
            // Gives way, so that another could begin.
            for _ in 1...100 { await Task.yield() }
            running.end()
        }
        try self.write(Self.good)
        let answers = await withTaskGroup(of: Bool.self) { group in
            for _ in 1...20 { group.addTask { (try? await reloader.answer()) == [] } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: true, count: 20))
        #expect(running.most == 1 && running.total == 20)
    }

    @Test("A reload is still carried out after its client is gone")
    func abandoned() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.file) }
        let reloader = try self.reloader { [applied = self.applied] in if !Task.isCancelled { applied.add($0) } }
        try self.write(Self.good)
        let client = Task { _ = await reloader.reload() }
        client.cancel()
        await client.value
        #expect(self.applied.all.count == 1 && self.reported == [true])
    }
}

/// What a reloader has applied.
private final class AppliedConfigurations: Sendable {
    private let list = Mutex<[Configuration]>([])

    var all: [Configuration] { self.list.withLock { $0 } }

    func add(_ configuration: Configuration) { self.list.withLock { $0.append(configuration) } }
}

/// How many reloads ran, and how many at a time.
private final class RunningReloads: Sendable {
    private let counts = Mutex((now: 0, most: 0, total: 0))

    var most: Int { self.counts.withLock { $0.most } }
    var total: Int { self.counts.withLock { $0.total } }

    func begin() {
        self.counts.withLock {
            $0.now += 1
            $0.most = max($0.most, $0.now)
            $0.total += 1
        }
    }

    func end() { self.counts.withLock { $0.now -= 1 } }
}
