internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateLoop
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// Resuming after the machine was suspended.
@Suite(
    .serialized, .enabled(if: NetlinkFixture.isAvailable, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct SuspendTests {
    private final class SuspendClock: Sendable {
        private let milliseconds = Atomic<Int64>(5000)

        var suspended: @Sendable () -> Duration {
            { .milliseconds(self.milliseconds.load(ordering: .relaxed)) }
        }

        func suspend(_ milliseconds: Int64) { self.milliseconds.add(milliseconds, ordering: .relaxed) }
    }

    private func resumptions(_ recorder: NetlinkFixture.Recorder) -> Int {
        recorder.events.count { if case .resynced(.resume, _) = $0 { true } else { false } }
    }

    @Test("After a suspend the next message or timer causes one dump, with an event and a count")
    func resume() async throws {
        let veth = try VethPairFixture()
        let clock = SuspendClock()
        let netlink = try NetlinkFixture(veth.here) { $0.suspended = clock.suspended }
        #expect(await netlink.becomes { $0.state == .connected(.event) })
        let before = try #require(await netlink.run { $0.health.resyncs })
        try veth.here.ip("link set v0 mtu 1400")
        #expect(await netlink.records { $0.changes.count > 1 })
        #expect(self.resumptions(netlink.recorder) == 0, "no suspend yet")
        clock.suspend(400)
        try veth.here.ip("link set v0 mtu 1300")
        clock.suspend(60_000)
        try veth.here.ip("link set v0 mtu 1200")
        #expect(await netlink.records { self.resumptions($0) == 1 })
        #expect(
            netlink.recorder.changes.contains { changes in
                changes.isDirty
                    && changes.events.contains { if case .resynced(.resume, _) = $0 { true } else { false } }
            })
        try veth.here.ip("link set v0 mtu 1100")
        _ = await netlink.run { $0.readMonitor() }
        #expect(self.resumptions(netlink.recorder) == 1)
        #expect(await netlink.run { $0.health.resyncs } == before + 1)
        clock.suspend(60_000)
        _ = await netlink.run { $0.loop.schedule(at: $0.now, token: 1) }
        #expect(await netlink.records { self.resumptions($0) == 2 }, "a timer detects it as well")
    }

    @Test("The machine's clocks report the suspended time")
    func clocks() {
        #expect(SystemClock.suspended() >= .milliseconds(-1))
        #expect(SystemClock.suspended() - SystemClock.suspended() < .seconds(10))
    }
}
