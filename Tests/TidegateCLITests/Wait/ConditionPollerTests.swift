import Synchronization
import Testing
import Tidegate
import TidegateTestKit

@testable import TidegateCLI

@Suite struct ConditionPollerTests {
    private func moment(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    private static let none = Verdict(level: .none, reason: .noAddress)
    private static let up = Samples.status(Samples.routed, ipv4: Samples.routed, ipv6: none, links: [])
    private static let down = Samples.status(none, ipv4: none, ipv6: none, links: [])

    @Test("The pause between questions grows from 1 s to 10 s while the ways stay as they are")
    func growing() {
        var interval = PollInterval()
        let ways = CurrentPaths(Self.up)
        var asked: [UInt64] = []
        for time in stride(from: UInt64(0), through: 60_000, by: 250)
        where interval.isDue(on: ways, at: self.moment(time)) {
            interval.didPoll(on: ways, at: self.moment(time))
            asked.append(time)
        }
        #expect(asked == [0, 1000, 3000, 7000, 15_000, 25_000, 35_000, 45_000, 55_000])
    }

    @Test("Another way is asked on at once, but never more than four times a second")
    func otherWays() {
        var interval = PollInterval()
        interval.didPoll(on: CurrentPaths(Self.up), at: self.moment(0))
        #expect(!interval.isDue(on: CurrentPaths(Self.down), at: self.moment(200)))
        #expect(interval.isDue(on: CurrentPaths(Self.down), at: self.moment(250)))
        interval.didPoll(on: CurrentPaths(Self.down), at: self.moment(300))
        // The pause starts from its beginning again.
        #expect(interval.isDue(on: CurrentPaths(Self.down), at: self.moment(1300)))
    }

    @Test("A level that internet checks raised is no other way")
    func levels() {
        var online = Samples.routed
        online.level = .online
        #expect(CurrentPaths(Self.up) == CurrentPaths(Samples.status(online, ipv4: online, ipv6: Self.none, links: [])))
        #expect(CurrentPaths(Self.up) != CurrentPaths(Self.down))
    }

    @Test("An answer counts on the ways that it was found on, and no others")
    func evidence() async throws {
        let count = Atomic<Int>(0)
        let found = ConditionEvidence.rungs([RungReport(rung: .gateway, status: .ok)])
        let poller = ConditionPoller([.gateway, .carrier(interface: nil)]) { _, _ in
            count.add(1, ordering: .relaxed)
            return found
        } onResult: {
        }
        #expect(poller.evidence(for: .gateway, in: Self.up) == .pending)
        poller.pollAll(Self.up, at: self.moment(0))
        poller.pollAll(Self.up, at: self.moment(10))
        #expect(await eventually { !poller.isChecking })
        #expect(count.load(ordering: .relaxed) == 1)
        #expect(poller.evidence(for: .gateway, in: Self.up) == found)
        #expect(poller.evidence(for: .gateway, in: Self.down) == .pending)
        #expect(poller.evidence(for: .carrier(interface: nil), in: Self.up) == .pending)
    }
}
