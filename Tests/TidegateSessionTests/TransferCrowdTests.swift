import Foundation
import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Crowds of transfers that meet the tricks of a hostile server at the same time.
@Suite(.enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)))
struct TransferCrowdTests {
    private static let size = 512
    // Shorter than a transfer alone has, because here every byte is read 512 times.
    private static let limit = 256 << 10

    private static func session() throws -> SessionFixture {
        let configuration = SessionConfiguration.with {
            ($0.maxConnections, $0.maxConnectionsPerHost) = (self.size, self.size)
            ($0.circuit, $0.maxBodyBytes) = (.never, self.limit)
            $0.budget = RetryBudgetPolicy(tokens: 1e6)
        }
        return try SessionFixture(configuration, isRecorded: false)
    }

    /// The transfers that have sent a request; none is answered before all of a crowd have.
    private final class Gathering: Sendable {
        private let paths = Mutex<Set<String>>([])

        var isComplete: Bool { self.paths.withLock { $0.count } >= TransferCrowdTests.size }

        func join(_ path: String) {
            self.paths.withLock { _ = $0.insert(path) }
            let end = ContinuousClock.now + .seconds(30)
            while !self.isComplete, ContinuousClock.now < end { usleep(10_000) }
        }
    }

    /// Runs 512 transfers at the same time, which meet the tricks in turn, and expects the end of each.
    private static func crowd(in fixture: SessionFixture) async throws {
        let (tricks, gathering) = (HostileServer.tricks, Gathering())
        let servers = try tricks.map { trick in
            try HostileServer.serve(trick, seed: 0) { gathering.join($0.path) }
        }
        defer { for server in servers { server.stop() } }
        let tasks = try (0..<self.size).map { number in
            let (trick, server) = (tricks[number % tricks.count], servers[number % tricks.count])
            var request = try TaskRequest(url: server.url("/\(number)"))
            let attempts = trick.end == .whole ? 3 : 1
            request.options.retry = RetryPolicy(attempts: attempts, base: .milliseconds(1))
            request.options.acceptsCompression = true
            return (trick, fixture.run(request))
        }
        var others: [String: Int] = [:]
        for (trick, task) in tasks {
            let result = await task.result()
            let isWhole = result.outcome == .success && task.body() == HostileServer.body
            let end = isWhole ? "whole" : "\(result.failure?.rawValue ?? "another body") \(result.party)"
            if end != Self.expected(trick) { others["\(trick): \(end)", default: 0] += 1 }
        }
        #expect(others == [:])
        #expect(gathering.isComplete)
    }

    private static func expected(_ trick: HostileServer.Trick) -> String {
        switch trick.end {
        case .whole: "whole"
        case .failure(let name): "\(name) theirs"
        case .limit(let name): "\(name) mine"
        }
    }

    @Test("512 transfers with every trick at once all end as one does, and leave no memory, descriptor or thread")
    func everyTrick() async throws {
        let before = try ProcessHoldings.own()
        let fixture = try Self.session()
        var left: [ProcessHoldings] = []
        for _ in 0..<8 {
            try await Self.crowd(in: fixture)
            left.append(try ProcessHoldings.own())
        }
        // The first crowds fill pools; of later ones each transfer may leave 1.4 KB, where a head alone has more.
        let least = [left.prefix(4), left.suffix(4)].compactMap { $0.map(\.memory).min() }
        #expect(least[1] - least[0] < 4 * Self.size * 1400, "\(left)")
        await fixture.session.invalidate(cancellingTasks: true)
        // A few are the process's own from their first use on.
        let isFree = try await eventually {
            let after = try ProcessHoldings.own()
            return after.descriptors < before.descriptors + 8 && after.threads < before.threads + 8
                && after.memory < before.memory + 3 << 20
        }
        #expect(isFree, "before: \(before), between: \(left)")
    }
}

extension TaskResult {
    /// The label of the responsible party.
    fileprivate var party: String { self.attribution?.party.label ?? "none" }
}
