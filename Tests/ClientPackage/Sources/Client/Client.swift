import Foundation
import Tidegate
import TidegateServer
import TidegateStore
import TidegateTesting

/// An app that uses every product as its documentation shows, and fails if one does not do what that says.
///
/// `Client` runs all checks, starting itself again for the task that has to survive its process.
@main
enum Client {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == "submit" { return try await self.submit(in: arguments[2]) }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("client-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await self.checkMonitor(in: folder)
        try await self.checkDurableTask(in: folder)
        try await self.checkTesting()
        print("client: all checks passed")
    }

    static func check(_ isTrue: Bool, _ message: String) throws {
        guard isTrue else { throw Failure(description: message) }
    }

    // MARK: - One monitor

    private static func checkMonitor(in folder: String) async throws {
        let monitor = try Monitor()
        let endpoint = try MonitorEndpoint(for: monitor.endpointDependencies, listen: ["127.0.0.1:0"])
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let server = Task {
            try await endpoint.run { ports in
                if let port = ports.first { continuation.yield(port) }
            }
        }
        guard let port = await ports.first(where: { _ in true }) else {
            throw Failure(description: "the endpoint has no port")
        }
        let base = "http://127.0.0.1:\(port)"
        try await self.checkPath(monitor, port: UInt16(port))
        try await self.checkRequests(monitor, base, in: folder)
        let (page, response) = try await monitor.session.data(for: "\(base)/metrics")
        try self.check(response.status == 200, "the endpoint answers \(response.status)")
        try self.check(String(decoding: page, as: UTF8.self).contains("tidegate_"), "the endpoint serves no metrics")
        let exposition = monitor.metrics.exposition(for: .openMetrics)
        try self.check(exposition.hasSuffix("# EOF\n"), "the exposition is not OpenMetrics")
        print(exposition.split(separator: "\n").first { $0.hasPrefix("tidegate_build_info") } ?? "no build info")
        server.cancel()
        _ = try? await server.value
        await monitor.stop()
    }

    private static func checkPath(_ monitor: Monitor, port: UInt16) async throws {
        for await path in try monitor.paths(to: "127.0.0.1") where path.verdict.level >= .routed {
            print(path.target, path.verdict.level)
            break
        }
        try await monitor.wait(for: .host("127.0.0.1", port, .tcp), stable: .milliseconds(100), timeout: .seconds(30))
        do {
            try await monitor.wait(for: .carrier(interface: "absent0"), timeout: .milliseconds(300))
            throw Failure(description: "an interface that does not exist has a carrier")
        } catch let error as WaitError {
            print(error)
        }
        let diagnosis = try await monitor.diagnose("127.0.0.1:\(port)")
        try self.check(diagnosis.firstFailure == nil, "the diagnosis of this host fails: \(diagnosis)")
    }

    private static func checkRequests(_ monitor: Monitor, _ base: String, in folder: String) async throws {
        let events = monitor.events()
        var received: Int64 = 0
        let result = try await monitor.session.download("\(base)/", to: "\(folder)/page.html") { progress in
            received = max(received, progress.receivedWire)
        }
        print(result)
        let size = try FileManager.default.attributesOfItem(atPath: "\(folder)/page.html")[.size] as? Int64 ?? 0
        try self.check(size > 0 && received == size, "progress ended at \(received) of \(size) bytes")
        do {
            _ = try await monitor.session.data(for: "\(base)/absent")
            throw Failure(description: "a missing page was answered")
        } catch let error as TaskError {
            try self.check(error.reason == .httpStatus, "a missing page failed as \(error.reason)")
        }
        for await event in events { if case .task = event.payload { return } }
        throw Failure(description: "no event about a task")
    }

    // MARK: - A task that outlives its process

    private static func checkDurableTask(in folder: String) async throws {
        let first = Process()
        first.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        first.arguments = ["submit", folder]
        let status = await withCheckedContinuation { waiter in
            first.terminationHandler = { waiter.resume(returning: $0.terminationStatus) }
            do { try first.run() } catch { waiter.resume(returning: -1) }
        }
        try self.check(status == 0, "the first process ended with \(status)")
        let journal = try Journal(directory: "\(folder)/state")
        try self.check(journal.unfinished == 1, "the journal has \(journal.unfinished) unfinished tasks")
        let monitor = try Monitor(journal: journal)
        let count = try await monitor.session.restore()
        try self.check(count == 1, "\(count) tasks were restored")
        await monitor.stop()
        journal.close()
    }

    /// The first process: accepts a task, and ends without running it.
    private static func submit(in folder: String) async throws {
        let journal = try Journal(directory: "\(folder)/state")
        let monitor = try Monitor(journal: journal)
        var request = try TaskRequest(url: "http://127.0.0.1:9/later")
        request.destination = .file("\(folder)/later")
        let submission = try await monitor.session.submit(request, key: "later", isSuspended: true)
        try self.check(submission.isNew, "the task was known before")
        await monitor.stop()
        journal.close()
    }

    // MARK: - Doubles

    private static func checkTesting() async throws {
        let paths = ScriptedPathSource(ScriptedPathSource.lost())
        let time = SystemClock()
        let session = try Session(
            .standard, bus: EventBus(time: time), paths: paths, resolver: ScriptedResolver(), time: time,
            generator: SystemRandomNumberGenerator())
        let request = try TaskRequest(url: "http://127.0.0.1:9/")
        let waiting = Task { try await session.data(for: request) }
        while session.tasks().first?.state.name != .waiting { try await Task.sleep(for: .milliseconds(5)) }
        waiting.cancel()
        do {
            _ = try await waiting.value
            throw Failure(description: "a cancelled request was answered")
        } catch let error as TaskError {
            try self.check(error.reason == .cancelled, "a cancelled request failed as \(error.reason)")
        }
        await session.invalidate(cancellingTasks: true)
    }
}
