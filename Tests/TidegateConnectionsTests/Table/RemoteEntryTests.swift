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
        return entry
    }

    @Test("An answer of about the moment when it began to hang is no recovery")
    func gone() {
        var entry = Self.hanging()
        // As the kernel's clock and this program's have it, half a second later.
        entry.answer(.milliseconds(1500), roundTrip: nil, at: Self.start)
        entry.beginList(of: [.established, .closing])
        let end = entry.endList(isEstablished: true)
        #expect(end == .gone)
    }

    @Test("An answer after that is")
    func answered() {
        var entry = Self.hanging()
        entry.beginList(of: [.established, .closing])
        entry.add(.established, nil, owner: nil, at: Self.start + .seconds(3))
        entry.answer(.milliseconds(100), roundTrip: nil, at: Self.start + .seconds(3))
        let end = entry.endList(isEstablished: true)
        #expect(end == .answered)
    }
}
