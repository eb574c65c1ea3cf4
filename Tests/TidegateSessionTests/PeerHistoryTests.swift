import Testing
import TidegateCore

@testable import TidegateSession

@Suite struct PeerHistoryTests {
    private static func way(_ index: UInt32 = 2, gateway: String = "10.0.0.1") -> PeerHistory.Way {
        PeerHistory.Way(
            NetworkPath(
                interface: "eth\(index)", index: index, gateway: IPAddress(gateway), source: IPAddress("10.0.0.2")))
    }

    private static func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    @Test("Others on the same way are counted, each by its last word, and never the one that asks")
    func counts() {
        var ledger = PeerHistory()
        ledger.note(1, on: Self.way(), isReached: true, at: Self.at(0))
        ledger.note(2, on: Self.way(), isReached: true, at: Self.at(0))
        ledger.note(3, on: Self.way(), isReached: false, at: Self.at(0))
        ledger.note(3, on: Self.way(), isReached: true, at: Self.at(1))
        ledger.note(4, on: Self.way(), isReached: false, at: Self.at(1))
        #expect(ledger.peers(of: 1, on: Self.way(), at: Self.at(1)) == PeerEvidence(reached: 2, missed: 1))
        #expect(ledger.peers(of: 4, on: Self.way(), at: Self.at(1)) == PeerEvidence(reached: 3, missed: 0))
    }

    @Test("Another link, another gateway or another life of the link is another way")
    func ways() {
        var ledger = PeerHistory()
        ledger.note(1, on: Self.way(3), isReached: true, at: Self.at(0))
        ledger.note(2, on: Self.way(gateway: "10.0.0.9"), isReached: true, at: Self.at(0))
        let reborn = NetworkPath(
            interface: "eth2", index: 2, generation: 1, gateway: IPAddress("10.0.0.1"), source: IPAddress("10.0.0.2"))
        ledger.note(3, on: PeerHistory.Way(reborn), isReached: true, at: Self.at(0))
        #expect(ledger.peers(of: 9, on: Self.way(), at: Self.at(0)) == PeerEvidence())
        ledger.note(3, on: Self.way(), isReached: true, at: Self.at(0))
        #expect(ledger.peers(of: 9, on: Self.way(), at: Self.at(0)) == PeerEvidence(reached: 1))
    }

    @Test("After 30 s nothing counts any more")
    func life() {
        var ledger = PeerHistory()
        ledger.note(1, on: Self.way(), isReached: true, at: Self.at(0))
        #expect(ledger.peers(of: 9, on: Self.way(), at: Self.at(30)).reached == 1)
        #expect(ledger.peers(of: 9, on: Self.way(), at: Self.at(31)).reached == 0)
    }

    @Test("However many targets there are, it remembers so many and no more; old ones make room")
    func bound() {
        var ledger = PeerHistory()
        for target in 0..<10_000 { ledger.note(UInt64(target), on: Self.way(), isReached: true, at: Self.at(0)) }
        #expect(ledger.count == PeerHistory.capacity)
        ledger.note(20_000, on: Self.way(), isReached: true, at: Self.at(31))
        #expect(ledger.count == 1)
    }
}
