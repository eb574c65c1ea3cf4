import Testing
@testable import TidegateConnections
import TidegateCore
@testable import TidegateNetwork

/// What the kernel's own counters decide.
struct CounterTests {
    private static func counters(failed: UInt64, unreachable: UInt64, timeouts: UInt64 = 0) -> TCPCounters {
        var counters = TCPCounters()
        (counters.attemptFails, counters.unreachableMessages, counters.timeoutAborts) = (failed, unreachable, timeouts)
        return counters
    }

    private static func report(_ cookie: UInt64) -> SocketReport {
        SocketReport(
            state: .close, local: .init(address: IPAddress(ipv4: 1), port: 1),
            remote: .init(address: IPAddress(ipv4: 2), port: 2), cookie: cookie)
    }

    @Test("As many connects were unreachable as the kernel counted beside those that are explained")
    func unreachable() {
        var ambiguous = AmbiguousConnects()
        #expect(ambiguous.assess(by: Self.counters(failed: 100, unreachable: 7)).isEmpty)
        for cookie in 1...11 { ambiguous.add(Self.report(UInt64(cookie)), isTorn: false) }
        ambiguous.explain(.refused)
        ambiguous.explain(.notSent)
        let found = ambiguous.assess(by: Self.counters(failed: 103, unreachable: 8))
        #expect(found.count { $0.outcome == .unreachable } == 1)
        #expect(found.count { $0.outcome == .abandoned } == 10)
    }

    @Test("Without a message of a router nothing is unreachable: torn connects were refused, others given up")
    func noMessage() {
        var ambiguous = AmbiguousConnects()
        _ = ambiguous.assess(by: Self.counters(failed: 0, unreachable: 0))
        ambiguous.add(Self.report(1), isTorn: true)
        ambiguous.add(Self.report(2), isTorn: false)
        let found = ambiguous.assess(by: Self.counters(failed: 1, unreachable: 0))
        #expect(found.map(\.outcome) == [.refused, .abandoned])
    }

    @Test("No more connects are unreachable than messages came, and none in a second whose counters cannot be read")
    func fewMessages() {
        var ambiguous = AmbiguousConnects()
        _ = ambiguous.assess(by: Self.counters(failed: 10, unreachable: 5))
        for number in 1...3 as ClosedRange<UInt64> { ambiguous.add(Self.report(number), isTorn: true) }
        #expect(
            ambiguous.assess(by: Self.counters(failed: 13, unreachable: 6)).map(\.outcome) == [
                .unreachable, .refused, .refused,
            ])
        ambiguous.add(Self.report(4), isTorn: false)
        #expect(ambiguous.assess(by: nil).map(\.outcome) == [.abandoned])
        ambiguous.add(Self.report(5), isTorn: false)
        #expect(ambiguous.assess(by: Self.counters(failed: 13, unreachable: 6)).map(\.outcome) == [.abandoned])
    }

    @Test("What is missing counts once it was missing twice, and never less than before")
    func reconciliation() {
        var start = TCPCounters()
        (start.activeOpens, start.establishedResets) = (1000, 50)
        var reconciliation = Reconciliation(since: start)
        var observed = Reconciliation.Observed()
        var counters = start
        (observed.connects, counters.activeOpens) = (10, 1012)
        // A message may be under way.
        #expect(reconciliation.compare(observed, with: counters) == [.connects: 0, .resets: 0])
        observed.connects = 11
        #expect(reconciliation.compare(observed, with: counters) == [.connects: 1, .resets: 0])
        (observed.connects, counters.establishedResets) = (12, 53)
        #expect(reconciliation.compare(observed, with: counters) == [.connects: 1, .resets: 0])
        #expect(reconciliation.compare(observed, with: counters) == [.connects: 1, .resets: 3])
    }

    @Test("Three seconds of a storm leave the groups, and thirty quiet ones join them again")
    func storm() {
        var machine = ObservationModeMachine()
        let loud = ObservationModeMachine.Input.second(messages: 20_001, drops: 0, opened: 20_001)
        #expect(machine.handle(loud) == nil)
        #expect(machine.handle(loud) == nil)
        #expect(machine.mode == .event)
        #expect(machine.handle(loud) == .leaveGroups)
        #expect(machine.mode == .poll)
        #expect(machine.reason != nil)
        let quiet = ObservationModeMachine.Input.second(messages: 0, drops: 0, opened: 9999)
        for _ in 1...29 { #expect(machine.handle(quiet) == nil) }
        #expect(machine.handle(.second(messages: 0, drops: 0, opened: 10_000)) == nil)
        for _ in 1...29 { #expect(machine.handle(quiet) == nil) }
        #expect(machine.handle(quiet) == .joinGroups)
        #expect(machine.mode == .event)
        #expect(machine.reason == nil)
    }

    @Test("Drops in three seconds in a row are a storm, too; with a pause they are not")
    func drops() {
        var machine = ObservationModeMachine()
        let lossy = ObservationModeMachine.Input.second(messages: 1, drops: 5, opened: 0)
        _ = machine.handle(lossy)
        _ = machine.handle(lossy)
        #expect(machine.handle(.second(messages: 1, drops: 0, opened: 0)) == nil)
        _ = machine.handle(lossy)
        _ = machine.handle(lossy)
        #expect(machine.handle(lossy) == .leaveGroups)
    }
}
