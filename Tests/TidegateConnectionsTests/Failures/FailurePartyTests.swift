import Testing
import TidegateAttribution
@testable import TidegateConnections
import TidegateCore

/// Whose failure an outcome is.
struct FailurePartyTests {
    private static func party(
        _ outcome: ConnectionOutcome, _ level: ReachabilityLevel = .routed,
        gateway: IPAddress? = IPAddress(ipv4: 0x0A00_0001), _ change: (inout FailureEvidence) -> Void = { _ in }
    ) -> FaultParty? {
        let verdict = Verdict(level: level, path: NetworkPath(interface: "v0", index: 2, gateway: gateway))
        guard var evidence = FailureEvidence(outcome, by: verdict) else { return nil }
        change(&evidence)
        return DecisionTable.party(of: evidence)
    }

    @Test(
        "An outcome over a path that stands",
        arguments: [
            (.refused, .theirs), (.reset, .theirs), (.unreachable, .path), (.notSent, .gateway), (.noAnswer, .unknown),
            (.lost, .unknown), (.abandoned, nil), (.aborted, nil), (.closed, nil), (.established, nil),
        ] as [(ConnectionOutcome, FaultParty?)])
    func plain(_ outcome: ConnectionOutcome, _ party: FaultParty?) {
        #expect(Self.party(outcome) == party)
    }

    @Test("A neighbour on this host's own link that is not found is not the gateway")
    func neighbour() {
        #expect(Self.party(.notSent, gateway: nil) == .theirs)
    }

    @Test("Silence beside others that answer is theirs, and with all others the provider's")
    func silence() {
        #expect(Self.party(.noAnswer) { $0.remotes = .answering } == .theirs)
        #expect(Self.party(.lost) { $0.remotes = .silent } == .upstream)
    }

    @Test("Resets of many remotes at once come from the way")
    func manyResets() {
        #expect(Self.party(.reset) == .theirs)
        #expect(Self.party(.reset) { $0.areManyReset = true } == .path)
    }

    @Test("Without a path, and while it settles, every failure is this host's", arguments: [true, false])
    func mine(_ isSettling: Bool) {
        for outcome in ConnectionOutcome.allCases where outcome.isFailure {
            let party = Self.party(outcome, isSettling ? .routed : .local) { $0.isSettling = isSettling }
            #expect(party == .mine, "\(outcome)")
        }
    }

    @Test("Of failures that are alike the first is an event at once, and the others one every ten seconds")
    func reporter() throws {
        var reporter = FailureCoalescer()
        let remote = Remote(try #require(IPAddress("192.0.2.1")), port: 443, .outgoing)
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        let first = reporter.add(remote, .refused, .theirs, at: start)
        #expect(first == .failed(.init(remote, .refused, party: .theirs, count: 1)))
        for second in 1...6 { #expect(reporter.add(remote, .refused, .theirs, at: start + .seconds(second)) == nil) }
        #expect(reporter.add(remote, .noAnswer, .theirs, at: start + .seconds(6)) != nil)
        #expect(reporter.flush(at: start + .seconds(9)).isEmpty)
        #expect(
            reporter.flush(at: start + .seconds(10)) == [.failed(.init(remote, .refused, party: .theirs, count: 6))])
        // Ten quiet seconds later the next one is news again.
        #expect(reporter.flush(at: start + .seconds(21)).isEmpty)
        #expect(reporter.add(remote, .refused, .theirs, at: start + .seconds(22)) == first)
    }
}
