import Testing
import TidegateConnections
import TidegateCore

/// Whose failure an outcome is.
struct FailurePartyTests {
    private static func context(
        _ level: ReachabilityLevel = .routed, gateway: IPAddress? = IPAddress(ipv4: 0x0A00_0001)
    ) -> FailureParty.Context {
        FailureParty.Context(
            verdict: Verdict(level: level, path: NetworkPath(interface: "v0", index: 2, gateway: gateway)))
    }

    @Test(
        "An outcome over a path that stands",
        arguments: [
            (.refused, .theirs), (.reset, .theirs), (.unreachable, .path), (.notSent, .gateway), (.noAnswer, .unknown),
            (.lost, .unknown), (.abandoned, nil), (.aborted, nil), (.closed, nil), (.established, nil),
        ] as [(ConnectionOutcome, FaultParty?)])
    func plain(_ outcome: ConnectionOutcome, _ party: FaultParty?) {
        #expect(FailureParty.party(of: outcome, Self.context()) == party)
    }

    @Test("A neighbour on this host's own link that is not found is not the gateway")
    func neighbour() {
        #expect(FailureParty.party(of: .notSent, Self.context(gateway: nil)) == .theirs)
    }

    @Test("Silence beside others that answer is theirs, and with all others the provider's")
    func silence() {
        var context = Self.context()
        context.isAnyOtherAnswering = true
        #expect(FailureParty.party(of: .noAnswer, context) == .theirs)
        context.group = .silent(count: 3)
        #expect(FailureParty.party(of: .lost, context) == .upstream)
    }

    @Test("Resets of many remotes at once come from the way")
    func manyResets() {
        var context = Self.context()
        context.resetRemotes = 2
        #expect(FailureParty.party(of: .reset, context) == .theirs)
        context.resetRemotes = 3
        #expect(FailureParty.party(of: .reset, context) == .path)
    }

    @Test("Without a path, and while it settles, every failure is this host's", arguments: [true, false])
    func mine(_ isSettling: Bool) {
        var context = Self.context(isSettling ? .routed : .local)
        context.isSettling = isSettling
        for outcome in ConnectionOutcome.allCases where outcome.isFailure {
            #expect(FailureParty.party(of: outcome, context) == .mine, "\(outcome)")
        }
    }

    @Test("Of failures that are alike the first is an event at once, and the others one every ten seconds")
    func reporter() throws {
        var reporter = FailureReporter()
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
