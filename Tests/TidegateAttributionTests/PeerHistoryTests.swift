import Testing

@testable import TidegateAttribution
import TidegateCore

@Suite struct PeerHistoryTests {
    private static func path(_ index: UInt32 = 2, gateway: String = "10.0.0.1") -> NetworkPath.Identity {
        NetworkPath(
            interface: "eth\(index)", index: index, gateway: IPAddress(gateway), source: IPAddress("10.0.0.2")
        ).identity
    }

    private static func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    @Test("Other targets on the same path are counted, each by its last result; the failed target itself is not")
    func counts() {
        var history = PeerHistory()
        history.record(1, on: Self.path(), isReached: true, at: Self.at(0))
        history.record(2, on: Self.path(), isReached: true, at: Self.at(0))
        history.record(3, on: Self.path(), isReached: false, at: Self.at(0))
        history.record(3, on: Self.path(), isReached: true, at: Self.at(1))
        history.record(4, on: Self.path(), isReached: false, at: Self.at(1))
        #expect(history.peers(of: 1, on: Self.path(), at: Self.at(1)) == PeerEvidence(reached: 2, missed: 1))
        #expect(history.peers(of: 4, on: Self.path(), at: Self.at(1)) == PeerEvidence(reached: 3, missed: 0))
    }

    @Test("Another link, another gateway or a re-created link is another path")
    func identity() {
        var history = PeerHistory()
        history.record(1, on: Self.path(3), isReached: true, at: Self.at(0))
        history.record(2, on: Self.path(gateway: "10.0.0.9"), isReached: true, at: Self.at(0))
        let reborn = NetworkPath(
            interface: "eth2", index: 2, generation: 1, gateway: IPAddress("10.0.0.1"), source: IPAddress("10.0.0.2"))
        history.record(3, on: reborn.identity, isReached: true, at: Self.at(0))
        #expect(history.peers(of: 9, on: Self.path(), at: Self.at(0)) == PeerEvidence())
        history.record(3, on: Self.path(), isReached: true, at: Self.at(0))
        #expect(history.peers(of: 9, on: Self.path(), at: Self.at(0)) == PeerEvidence(reached: 1))
    }

    @Test("What became of others before a moment can be left out")
    func since() {
        var history = PeerHistory()
        history.record(1, on: Self.path(), isReached: true, at: Self.at(0))
        history.record(2, on: Self.path(), isReached: false, at: Self.at(5))
        let later = history.peers(of: 9, on: Self.path(), at: Self.at(6), since: Self.at(5))
        #expect(later == PeerEvidence(missed: 1))
    }

    @Test("Rows older than 30 s do not count")
    func lifetime() {
        var history = PeerHistory()
        history.record(1, on: Self.path(), isReached: true, at: Self.at(0))
        #expect(history.peers(of: 9, on: Self.path(), at: Self.at(30)).reached == 1)
        #expect(history.peers(of: 9, on: Self.path(), at: Self.at(31)).reached == 0)
    }

    @Test("At most 512 targets are remembered, and old rows make room for new ones")
    func bound() {
        var history = PeerHistory()
        for target in 0..<10_000 { history.record(UInt64(target), on: Self.path(), isReached: true, at: Self.at(0)) }
        #expect(history.count == PeerHistory.capacity)
        history.record(20_000, on: Self.path(), isReached: true, at: Self.at(31))
        #expect(history.count == 1)
    }

    @Test("An answer from before a silence proves nothing of it; an older silence does")
    func olderAnswers() {
        var history = PeerHistory()
        history.record(1, on: Self.path(), isReached: true, at: Self.at(0))
        history.record(2, on: Self.path(), isReached: true, at: Self.at(4))
        history.record(3, on: Self.path(), isReached: false, at: Self.at(0))
        let peers = history.peers(of: 9, on: Self.path(), at: Self.at(5), silentSince: Self.at(2))
        #expect(peers == PeerEvidence(reached: 1, missed: 1))
    }
}
