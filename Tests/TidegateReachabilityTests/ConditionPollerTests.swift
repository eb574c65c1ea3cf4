internal import Synchronization
internal import Testing
@testable internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateReachability

/// When a wait checks its conditions, and for how long they have to hold.
@Suite struct ConditionPollerTests {
    private static let none = Verdict(level: .none, reason: .noAddress)
    private static let routed = Verdict(
        level: .routed,
        path: NetworkPath(
            interface: "eth0", index: 2, gateway: IPAddress("10.0.0.1"), source: IPAddress("10.0.0.2"), table: 254))
    private static let up = Self.status(Self.routed)
    private static let down = Self.status(Self.none)

    private static func status(_ ipv4: Verdict) -> ReachabilityStatus {
        ReachabilityStatus(
            global: ipv4, mode: .once,
            families: [.init(family: .ipv4, verdict: ipv4), .init(family: .ipv6, verdict: Self.none)], links: [],
            targets: [], health: .init(isConsistent: true))
    }

    private func moment(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    @Test("The interval between checks grows from 1 s to 10 s while the paths stay as they are")
    func growing() {
        var interval = PollInterval()
        let paths = CurrentPaths(Self.up)
        var checks: [UInt64] = []
        for time in stride(from: UInt64(0), through: 60_000, by: 250)
        where interval.isDue(on: paths, at: self.moment(time)) {
            interval.didPoll(on: paths, at: self.moment(time))
            checks.append(time)
        }
        #expect(checks == [0, 1000, 3000, 7000, 15_000, 25_000, 35_000, 45_000, 55_000])
    }

    @Test("Other paths are checked at once, but never more than four times a second")
    func otherPaths() {
        var interval = PollInterval()
        interval.didPoll(on: CurrentPaths(Self.up), at: self.moment(0))
        #expect(!interval.isDue(on: CurrentPaths(Self.down), at: self.moment(200)))
        #expect(interval.isDue(on: CurrentPaths(Self.down), at: self.moment(250)))
        interval.didPoll(on: CurrentPaths(Self.down), at: self.moment(300))
        // The interval starts from its beginning again.
        #expect(interval.isDue(on: CurrentPaths(Self.down), at: self.moment(1300)))
    }

    @Test("A level that internet checks raised is no other path")
    func levels() {
        var online = Self.routed
        online.level = .online
        #expect(CurrentPaths(Self.up) == CurrentPaths(Self.status(online)))
        #expect(CurrentPaths(Self.up) != CurrentPaths(Self.down))
    }

    @Test("A result counts on the paths that it was found on, and on no others")
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

    @Test("A condition is stable once it has held for the required time without a break")
    func stable() {
        var wait = StableWait(required: .seconds(5))
        #expect(wait.observe(true, at: self.moment(10_000)) == .holdingUntil(self.moment(15_000)))
        #expect(wait.observe(false, at: self.moment(14_000)) == .unmet)
        #expect(wait.held(at: self.moment(15_000)) == .zero)
        #expect(wait.observe(true, at: self.moment(16_000)) == .holdingUntil(self.moment(21_000)))
        #expect(wait.held(at: self.moment(19_000)) == .seconds(3))
        #expect(wait.observe(true, at: self.moment(21_000)) == .done)
        var atOnce = StableWait(required: .zero)
        #expect(atOnce.observe(true, at: self.moment(1000)) == .done)
    }
}
