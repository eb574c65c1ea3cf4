internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// What happens when the machine wakes up.
@Suite(
    .serialized, .enabled(if: KernelProbe.isPossible, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct SuspendTests {
    private final class Bed: Sendable {
        private let milliseconds = Atomic<Int64>(5000)

        var slept: @Sendable () -> Duration {
            { .milliseconds(self.milliseconds.load(ordering: .relaxed)) }
        }

        func sleep(_ milliseconds: Int64) { self.milliseconds.add(milliseconds, ordering: .relaxed) }
    }

    private func resumptions(_ heard: KernelProbe.Heard) -> Int {
        heard.events.count { if case .resynced(.resume, _) = $0 { true } else { false } }
    }

    @Test("After a sleep the next message or timer has everything dumped again, once, with an event and a count")
    func resume() async throws {
        let world = try KernelWorld()
        let bed = Bed()
        let probe = try KernelProbe(world.here) { $0.slept = bed.slept }
        #expect(await probe.holds { $0.state == .connected(.event) })
        let before = try #require(await probe.ask { $0.health.resyncs })
        try world.here.ip("link set v0 mtu 1400")
        #expect(await probe.hears { $0.news.count > 1 })
        #expect(self.resumptions(probe.heard) == 0, "nobody slept")
        bed.sleep(400)
        try world.here.ip("link set v0 mtu 1300")
        bed.sleep(60_000)
        try world.here.ip("link set v0 mtu 1200")
        #expect(await probe.hears { self.resumptions($0) == 1 })
        #expect(
            probe.heard.news.contains { news in
                news.isDirty && news.events.contains { if case .resynced(.resume, _) = $0 { true } else { false } }
            })
        try world.here.ip("link set v0 mtu 1100")
        _ = await probe.ask { $0.readMonitor() }
        #expect(self.resumptions(probe.heard) == 1)
        #expect(await probe.ask { $0.health.resyncs } == before + 1)
        bed.sleep(60_000)
        _ = await probe.ask { $0.schedule(at: $0.now, token: 1) }
        #expect(await probe.hears { self.resumptions($0) == 2 }, "a timer notices it as well")
    }

    @Test("The machine's own clocks say how long it slept")
    func clocks() {
        #expect(ProcSysFiles.slept() >= .milliseconds(-1))
        #expect(ProcSysFiles.slept() - ProcSysFiles.slept() < .seconds(10))
    }
}
