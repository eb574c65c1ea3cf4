import Foundation
import Glibc
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// More messages than can be read.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverOverrunTests {
    // Five thousand connects from four processes, each closed at once.
    private static let load = """
        import os, socket
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                children = []
                break
            children.append(child)
        for _ in range(1250):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex(("\(ThreeHosts.farAddress.ipv4)", 9000))
            connection.close()
        for child in children: os.waitpid(child, 0)
        """

    @Test(
        "Of five thousand ends beside a daemon that was stopped every one is counted, or counted as lost",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func stopped() async throws {
        let hosts = try ThreeHosts()
        let daemon = try await ObservingDaemon(
            in: hosts.here, "observation: {receive_buffer: 104KiB, established_interval: 1s}\n")
        // Who listens is listed every second; before that a scrape counts as a connect at both of its ends.
        let listed = ContinuousClock.now + .seconds(3)
        let isListed = await eventually { ContinuousClock.now >= listed }
        #expect(isListed)
        let ready = try await eventualValue {
            let metrics = try await daemon.metrics()
            return metrics[Self.mode] == 1 ? metrics : nil
        }
        let before = try #require(ready)
        // What answering takes for the first time is not what messages take.
        for _ in 0..<20 { _ = try await daemon.metrics() }
        let memory = daemon.memoryBytes
        #expect(memory > 1 << 20)
        daemon.signal(SIGSTOP)
        try await Program.expect(["ip", "netns", "exec", hosts.here.name, "python3", "-c", Self.load])
        daemon.signal(SIGCONT)
        let counted = try await eventualValue {
            let metrics = try await daemon.metrics()
            return Self.connects(metrics) - Self.connects(before) + Self.dropped(metrics) == 5000 ? metrics : nil
        }
        let after = try #require(counted)
        let grown = daemon.memoryBytes - memory
        #expect(grown <= 2 << 20, "\(grown)")
        // The buffer holds 166 messages.
        #expect(Self.dropped(before) == 0)
        #expect(Self.dropped(after) > 4500 && Self.dropped(after) < 5000)
        let isReconciled = try await eventually {
            try await daemon.metrics()[Self.unexplained] == Self.dropped(after)
        }
        let reconciled = try await daemon.metrics()[Self.unexplained] ?? .nan
        #expect(isReconciled, "\(reconciled) \(Self.dropped(after))")
        let last = try await daemon.metrics()
        #expect(Self.dropped(last) == Self.dropped(after))
        #expect(last[Self.mode] == 1)
    }

    private static let mode = "tidegate_observation_mode{mode=\"event\"}"
    private static let unexplained = "tidegate_observation_unexplained_total{kind=\"connects\"}"

    private static func dropped(_ metrics: [String: Double]) -> Double {
        metrics["tidegate_observation_dropped_total"] ?? .nan
    }

    private static func connects(_ metrics: [String: Double]) -> Double {
        metrics.filter { $0.key.hasPrefix("tidegate_observed_connects_total") }.values.reduce(0, +)
    }

    @Test(
        "Losses in three seconds in a row leave the groups, and after half a minute messages come again",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func storm() async throws {
        var configuration = ConnectionsConfiguration()
        configuration.receiveBufferBytes = 4096
        let fixture = try await ObserverFixture(configuration)
        let load = try fixture.start(
            """
            while True:
                for _ in range(300):
                    connection = socket.socket()
                    connection.setblocking(False)
                    connection.connect_ex((far, 9000))
                    connection.close()
                time.sleep(0.2)
            """)
        defer { load.signal(SIGKILL) }
        let isLeft = await eventually { fixture.statistics.mode == .poll }
        #expect(isLeft, "\(fixture.statistics.dropped)")
        let reason = await fixture.observer.report().reason
        #expect(reason?.contains("too many connections end to read a message about each") == true)
        #expect(fixture.events.contains(.modeChanged(from: .event, to: .poll, reason: reason)))
        // The messages that were queued when it left the groups are read before the next lists.
        let left = fixture.statistics.kernel?.activeOpens ?? 0
        let isDrained = await eventually { fixture.statistics.kernel?.activeOpens ?? 0 > left + 600 }
        #expect(isDrained)
        // Nothing is read and nothing is lost any more, while the load goes on, and lists go on.
        let (messages, dropped) = (fixture.statistics.messages, fixture.statistics.dropped)
        let opens = fixture.statistics.kernel?.activeOpens ?? 0
        let isCounting = await eventually { fixture.statistics.kernel?.activeOpens ?? 0 > opens + 2000 }
        #expect(isCounting)
        #expect(fixture.statistics.messages == messages)
        #expect(fixture.statistics.dropped == dropped)
        load.signal(SIGKILL)
        let isBack = await eventually { fixture.statistics.mode == .event }
        #expect(isBack)
        #expect(await fixture.observer.report().reason == nil)
        let closed = { fixture.statistics.traffic[.outgoing]?.ends[.closed] ?? 0 }
        let before = closed()
        try await fixture.run("connect(9001).close()")
        let isCounted = await eventually { closed() == before + 1 }
        #expect(isCounted, "\(before) \(closed())")
    }
}
