import Testing
import TidegateCore
import TidegateLoop
import TidegateSession
import TidegateTestKit

@testable import TidegateServer

/// Over the real wire: a session at full speed with concurrent scrapers, and with listeners, one too slow.
@Suite(.serialized, .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(10)))
struct FullRateTests {
    private static let tasks = 4000

    @Test("At full request rate every counter equals its events, and every subscriber's events add up")
    func exact() async throws {
        let (fixture, tally) = (Fixture(), EventCounts())
        fixture.bus.attach(tally)
        let slow = Listener(fixture.bus.subscribe(.library, bufferingNewest: 64), pausing: .milliseconds(1))
        let fast = Listener(fixture.bus.subscribe(.watch, bufferingNewest: 8192), pausing: nil)
        try await self.load(fixture)
        let counts = (slow: await slow.end(), fast: await fast.end())
        let total = tally.events
        #expect(counts.slow.received + counts.slow.dropped == total && counts.slow.dropped > 0)
        #expect(counts.fast.received + counts.fast.dropped == total && counts.fast.received > counts.slow.received)
        try self.compare(fixture, tally)
        let own = RegistrySnapshot(fixture).numbers
        let dropped = "tidegate_bus_events_dropped_total"
        #expect(own[SeriesKey(name: dropped, labels: ["subscriber": "library"])] == Double(counts.slow.dropped))
        #expect(own[SeriesKey(name: dropped, labels: ["subscriber": "watch"])] == Double(counts.fast.dropped))
    }

    private func load(_ fixture: Fixture) async throws {
        let server = try LiveServer(answer: Load.answer(to:))
        defer { server.stop() }
        var configuration = SessionConfiguration()
        (configuration.maxConnectionsPerHost, configuration.maxConnections) = (32, 32)
        configuration.retry = RetryPolicy(attempts: 3, base: .milliseconds(1), cap: .milliseconds(2))
        configuration.budget = RetryBudgetPolicy(tokens: 1e6)
        configuration.circuit.failures = 10_000
        let session = try Session(
            configuration, bus: fixture.bus, paths: ScriptedPathSource(), resolver: ScriptedResolver(),
            time: SystemClock(), generator: SystemRandomNumberGenerator())
        try await fixture.serving { (port: Int) in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for accept in ["application/openmetrics-text;version=1.0.0", "text/plain;version=0.0.4"] {
                    group.addTask { try await self.scrape(port, accepting: accept) }
                }
                group.addTask {
                    await Load(Self.tasks, on: session, at: server).run(inFlight: 48)
                    await session.invalidate(cancellingTasks: false)
                    return 0
                }
                // The load ends; then the scrapers are cancelled.
                var scrapes = 0
                while let count = try await group.next() {
                    scrapes += count
                    group.cancelAll()
                }
                #expect(scrapes > 2)
            }
        }
    }

    // A counter that a scrape sees never goes back.
    private func scrape(_ port: Int, accepting type: String) async throws -> Int {
        var (count, seen) = (0, 0.0)
        while !Task.isCancelled {
            let body = try await RawConnection.ask(port: port, "/metrics", fields: "Accept: \(type)\r\n").body
            let start = "tidegate_bus_events_published_total{topic=\"task\"} "
            let line = try #require(body.split(separator: "\n").first { $0.hasPrefix(start) })
            let published = try #require(Double(line.dropFirst(start.count)))
            #expect(published >= seen)
            (count, seen) = (count + 1, published)
        }
        return count
    }

    private func compare(_ fixture: Fixture, _ tally: EventCounts) throws {
        let (own, wanted) = (RegistrySnapshot(fixture).numbers, tally.numbers)
        for (key, number) in wanted {
            let actual = try #require(own[key], "\(key) is not there")
            // Parts of seconds may be added up in another order.
            #expect(abs(actual - number) <= 1e-9 * number, "\(key): \(actual), not \(number)")
        }
        // Nothing of these metrics was counted that did not happen.
        let names = Set(wanted.keys.map(\.name))
        for (key, number) in own where names.contains(key.name) && wanted[key] == nil {
            #expect(number == 0, "\(key)")
        }
        for name in ["task_failures_total", "task_retries_total", "sent_bytes_total", "connection_reuses_total"] {
            #expect(names.contains("tidegate_\(name)"), "the load was too easy")
        }
        #expect(
            wanted.filter { $0.key.name == "tidegate_task_completions_total" }.values.reduce(0, +)
                == Double(Self.tasks))
    }
}

/// Reads a subscription in a task of its own until it ends.
private struct Listener {
    private let subscription: Subscription
    private let reading: Task<UInt64, Never>

    init(_ subscription: Subscription, pausing pause: Duration?) {
        self.subscription = subscription
        self.reading = Task {
            var received: UInt64 = 0
            for await _ in subscription {
                received += 1
                if let pause { try? await Task.sleep(for: pause) }
            }
            return received
        }
    }

    /// Ends the subscription; what it still has is read first.
    func end() async -> (received: UInt64, dropped: UInt64) {
        self.subscription.cancel()
        return (await self.reading.value, self.subscription.dropped)
    }
}
