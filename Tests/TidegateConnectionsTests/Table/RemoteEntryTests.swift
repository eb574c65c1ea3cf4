import Testing
import TidegateCore

@testable import TidegateConnections

/// What becomes of a remote whose connections hung.
struct RemoteEntryTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private static let stall = StallFinding(
        kind: .unanswered, age: .seconds(2), retransmits: 3, nextTry: .seconds(4))

    // One connection that has hung for two seconds.
    private static func hanging() -> RemoteEntry {
        var entry = RemoteEntry(at: Self.start)
        entry.add(.established, Self.stall, owner: nil, at: Self.start)
        _ = entry.endList(isEstablished: true, at: Self.start)
        return entry
    }

    @Test("An answer of about the moment when it began to hang is no recovery")
    func gone() {
        var entry = Self.hanging()
        // As the kernel's clock and this program's have it, half a second later.
        entry.answer(.milliseconds(1500), roundTrip: nil, at: Self.start)
        entry.beginList(of: [.established, .closing])
        let end = entry.endList(isEstablished: true, at: Self.start)
        #expect(end == .gone)
    }

    @Test("An answer after that is")
    func answered() {
        var entry = Self.hanging()
        entry.beginList(of: [.established, .closing])
        entry.add(.established, nil, owner: nil, at: Self.start + .seconds(3))
        entry.answer(.milliseconds(100), roundTrip: nil, at: Self.start + .seconds(3))
        let end = entry.endList(isEstablished: true, at: Self.start)
        #expect(end == .answered)
    }

    private static func finding(_ kind: ConnectionStall, age: Duration) -> StallFinding {
        StallFinding(kind: kind, age: age, retransmits: 3, nextTry: .seconds(4))
    }

    @Test("A program that has not read for an hour does not make a silence older than it is")
    func window() {
        var entry = RemoteEntry(at: Self.start)
        entry.add(.established, Self.finding(.window, age: .seconds(3600)), owner: nil, at: Self.start)
        _ = entry.endList(isEstablished: true, at: Self.start)
        #expect(entry.isStalled && entry.silentSince == nil)
        let now = Self.start + .seconds(10)
        entry.beginList(of: [.established, .closing])
        entry.add(.established, Self.finding(.window, age: .seconds(3610)), owner: nil, at: now)
        entry.add(.established, Self.finding(.unanswered, age: .seconds(2)), owner: nil, at: now)
        _ = entry.endList(isEstablished: true, at: Self.start)
        #expect(entry.silentSince == Self.start + .seconds(8))
        #expect(entry.stalled == [.window: 1, .unanswered: 1])
    }

    @Test("A list that was not finished changes nothing")
    func refused() {
        var entry = Self.hanging()
        entry.beginList(of: [.established, .closing])
        entry.add(.established, nil, owner: nil, at: Self.start)
        entry.add(.closing, nil, owner: nil, at: Self.start)
        #expect(entry.counts == [.established: 1])
        #expect(entry.stalled == [.unanswered: 1])
        entry.beginList(of: [.connecting])
        entry.add(.connecting, nil, owner: nil, at: Self.start)
        let end = entry.endList(isEstablished: false, at: Self.start)
        #expect(end == nil)
        #expect(entry.counts == [.established: 1, .connecting: 1])
        #expect(entry.nextTry == Self.start + .seconds(4))
    }

    @Test("Beside idle connections, what hung and has ended unseen is over after a minute without another that hangs")
    func endedUnseen() {
        var entry = Self.hanging()
        func list(_ stall: StallFinding?, at second: Double) -> StallEnd? {
            let now = Self.start + .seconds(second)
            entry.beginList(of: [.established, .closing])
            entry.add(.established, stall, owner: nil, at: now)
            return entry.endList(isEstablished: true, at: now)
        }
        #expect(list(Self.stall, at: 30) == nil)
        #expect(list(nil, at: 89.9) == nil)
        #expect(list(nil, at: 90) == .gone)
        #expect(list(Self.stall, at: 200) == nil)
        #expect(entry.silentSince == Self.start + .seconds(198))
    }

    @Test("Owners are those of the connections that lists show now, or of the last ones after the last connection")
    func owners() {
        var entry = RemoteEntry(at: Self.start)
        func list(_ states: Set<ConnectionStatistics.State>, _ users: [UInt32]) {
            entry.beginList(of: states)
            let state: ConnectionStatistics.State = states.contains(.connecting) ? .connecting : .established
            for user in users { entry.add(state, nil, owner: .init(user: user), at: Self.start) }
            _ = entry.endList(isEstablished: !states.contains(.connecting), at: Self.start)
        }
        list([.established, .closing], [1, 2, 1])
        list([.connecting], [3, 2])
        #expect(entry.owners.map(\.user) == [3, 2, 1])
        list([.established, .closing], [4])
        #expect(entry.owners.map(\.user) == [3, 2, 4])
        list([.connecting], [])
        #expect(entry.owners == [.init(user: 4)])
        list([.established, .closing], [])
        #expect(entry.owners == [.init(user: 4)])
        list([.established, .closing], Array(10..<30))
        #expect(entry.owners == (10..<18).map { .init(user: $0) })
    }
}
