import Testing
import TidegateTesting

@testable import TidegateCore
@testable import TidegateReachability

/// The one diagnosis of a sidecar's host, from the first silence on.
@Suite struct StandingDiagnosisTests {
    private var standing = StandingDiagnosis()

    private func at(_ seconds: Int64) -> StandingDiagnosis.Moment {
        .init(
            monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000) + .seconds(seconds),
            wall: WallTime(microseconds: 1_790_000_000_000_000 + seconds * 1_000_000))
    }

    static let sound = Explanation(target: "the internet", addresses: [], ladders: [], conclusion: .works)

    static func findings(
        _ explanation: Explanation, walked: Bool = true, isForwarderAnswering: Bool = false, witness: Witness? = nil
    ) -> HostFindings {
        var found = HostFindings(LadderFindings(target: .internet, families: [.ipv4]), walked: walked)
        (found.explanation, found.isForwarderAnswering) = (explanation, isForwarderAnswering)
        found.proof.evidence[.ipv4] = SilenceEvidence(silent: .target, witnesses: [witness].compactMap(\.self))
        return found
    }

    static func broken(_ cause: Cause, at rung: Rung = .internet) -> Explanation {
        let report = RungReport(rung: rung, status: .bad, reason: .limited)
        var explanation = Explanation(
            target: "the internet", addresses: [],
            ladders: [.init(family: .ipv4, rungs: [report], cause: cause, failing: rung)], conclusion: .broken)
        (explanation.cause, explanation.party, explanation.firstFailure) = (cause, cause.party, report)
        return explanation
    }

    private static let provider = Self.broken(.provider(.nothingBeyond(gateway: nil)))
    private static let unexplained = Self.broken(.unknown(.silence))

    @Test("From the first silence until it is decided, the answer is that it is being checked")
    mutating func checking() {
        self.standing.record(Self.findings(Self.sound), from: self.at(0), to: self.at(1))
        self.standing.suspect(since: self.at(12))
        self.standing.suspect(since: self.at(10))
        self.standing.suspect(since: self.at(13))
        #expect(self.standing.latest?.state == .checking)
        #expect(self.standing.latest?.since == self.at(10).wall, "the first silence")
        #expect(self.standing.latest?.failing == [:])
    }

    @Test("An outage began with its first silence, however often it is measured and whatever it turns out to be")
    mutating func since() {
        self.standing.suspect(since: self.at(10))
        self.standing.record(Self.findings(Self.unexplained), from: self.at(12), to: self.at(14))
        self.standing.record(Self.findings(Self.provider), from: self.at(20), to: self.at(22))
        self.standing.suspect(since: self.at(23))
        #expect(self.standing.latest?.isBroken == true)
        #expect(self.standing.latest?.explanation.party == .upstream)
        #expect(self.standing.latest?.since == self.at(10).wall)
    }

    @Test("An outage that a measurement shows first began with its first packet; a silence that was shown stays")
    mutating func unsuspected() {
        self.standing.record(Self.findings(Self.provider), from: self.at(12), to: self.at(14))
        #expect(self.standing.latest?.since == self.at(12).wall)
        self.standing.record(Self.findings(Self.sound), from: self.at(15), to: self.at(16))
        self.standing.suspect(since: self.at(21))
        self.standing.record(Self.findings(Self.provider), from: self.at(20), to: self.at(22))
        #expect(self.standing.latest?.since == self.at(21).wall)
    }

    @Test("A measurement that could not tell does not contradict the one before it")
    mutating func kept() {
        self.standing.record(Self.findings(Self.provider), from: self.at(0), to: self.at(1))
        self.standing.record(Self.findings(Self.unexplained), from: self.at(5), to: self.at(6))
        #expect(self.standing.latest?.explanation.party == .upstream)
        self.standing.record(
            Self.findings(Self.broken(.router(.silent(IPAddress(ipv4: 1), link: "eth0", lastConfirmed: nil)))),
            from: self.at(10), to: self.at(11))
        #expect(self.standing.latest?.explanation.party == .gateway)
    }

    @Test("A measurement that was not allowed to walk does not move the place where the way ends")
    mutating func unwalked() throws {
        let edge = try #require(IPAddress("100.64.1.1"))
        let ends = Self.broken(.provider(.ends(after: edge)))
        self.standing.record(Self.findings(ends), from: self.at(0), to: self.at(1))
        self.standing.record(Self.findings(Self.provider, walked: false), from: self.at(5), to: self.at(6))
        #expect(self.standing.latest?.explanation.cause == ends.cause)
        self.standing.record(Self.findings(Self.provider), from: self.at(10), to: self.at(11))
        #expect(self.standing.latest?.explanation.cause == Self.provider.cause)
        self.standing.record(Self.findings(Self.sound, walked: false), from: self.at(15), to: self.at(16))
        #expect(self.standing.latest?.isBroken == false)
    }

    @Test("A name server on the own link that answered all through an outage does not end it; an end beyond does")
    mutating func keptNames() {
        let (outage, sound) = (Self.findings(Self.provider, isForwarderAnswering: true), Self.findings(Self.sound))
        self.standing.record(outage, from: self.at(0), to: self.at(1))
        self.standing.record(sound, from: self.at(5), to: self.at(6))
        #expect(self.standing.latest?.isBroken == true)
        self.standing.record(Self.findings(Self.provider), from: self.at(10), to: self.at(11))
        self.standing.record(sound, from: self.at(15), to: self.at(16))
        #expect(self.standing.latest?.isBroken == true, "what it said in between does not matter")
        let proven = Self.findings(Self.sound, witness: Witness(.target, .beyond(nil)))
        self.standing.record(proven, from: self.at(20), to: self.at(21))
        #expect(self.standing.latest?.isBroken == false)
        self.standing.record(Self.findings(Self.provider), from: self.at(30), to: self.at(31))
        self.standing.record(sound, from: self.at(35), to: self.at(36))
        #expect(self.standing.latest?.isBroken == false, "it was silent, so that its answer is news")
    }

    @Test("A resolver on the own link ends no outage of the provider until a host beyond the gateway answers")
    mutating func forwarder() {
        self.standing.suspect(since: self.at(10))
        self.standing.record(Self.findings(Self.provider), from: self.at(11), to: self.at(13))
        let untold = Self.broken(.unknown(.forwarder), at: .dns)
        for second: Int64 in [16, 21, 26, 60] {
            self.standing.record(Self.findings(untold), from: self.at(second), to: self.at(second + 1))
            #expect(self.standing.latest?.explanation.cause == .provider(.nothingBeyond(gateway: nil)))
            #expect(self.standing.latest?.since == self.at(10).wall && self.standing.latest?.isBroken == true)
        }
        // A host beyond the gateway answers.
        let failing = Self.broken(.resolver(.fails(nil, code: "SERVFAIL")), at: .dns)
        self.standing.record(Self.findings(failing), from: self.at(65), to: self.at(66))
        #expect(self.standing.latest?.explanation.party == .upstream, "a resolver recovers a moment later")
        self.standing.record(Self.findings(failing), from: self.at(70), to: self.at(71))
        #expect(self.standing.latest?.explanation.party == .resolver)
    }

    @Test("A resolver that still fails once the provider is back is no outage if it answers the next measurement")
    mutating func lateResolver() {
        let failing = Self.broken(.resolver(.fails(nil, code: "SERVFAIL")), at: .dns)
        for second: Int64 in [0, 100] {
            self.standing.record(Self.findings(Self.provider), from: self.at(second), to: self.at(second + 1))
            self.standing.record(Self.findings(failing), from: self.at(second + 5), to: self.at(second + 6))
            #expect(self.standing.latest?.explanation.party == .upstream)
            self.standing.record(Self.findings(Self.sound), from: self.at(second + 10), to: self.at(second + 11))
            #expect(self.standing.latest?.isBroken == false)
        }
    }

    @Test("A measurement without descriptors decides nothing: a silence stays in check, and an outage goes on")
    mutating func noDescriptor() {
        var lacking = Self.sound
        (lacking.conclusion, lacking.cause, lacking.party) = (.notChecked, .thisHost(.noDescriptor), .mine)
        self.standing.suspect(since: self.at(10))
        self.standing.record(Self.findings(lacking), from: self.at(12), to: self.at(13))
        #expect(self.standing.latest?.state == .checking && self.standing.latest?.since == self.at(10).wall)
        self.standing.record(Self.findings(Self.provider), from: self.at(14), to: self.at(15))
        self.standing.record(Self.findings(lacking), from: self.at(20), to: self.at(21))
        #expect(self.standing.latest?.explanation.party == .upstream)
    }

    @Test("A measurement that began before the silence does not explain it; the next one does")
    mutating func younger() {
        self.standing.suspect(since: self.at(10))
        self.standing.record(Self.findings(Self.sound), from: self.at(9), to: self.at(11))
        #expect(self.standing.latest?.state == .checking)
        #expect(self.standing.latest?.since == self.at(10).wall)
        self.standing.record(Self.findings(Self.sound), from: self.at(12), to: self.at(13))
        #expect(self.standing.latest?.state == .decided)
        #expect(self.standing.latest?.since == self.at(13).wall)
    }

    @Test("What was measured on another path says nothing; the kernel knows since when nothing can be sent")
    mutating func path() {
        self.standing.record(Self.findings(Self.provider), from: self.at(0), to: self.at(1))
        self.standing.restart(lostSince: nil)
        #expect(self.standing.latest == nil)
        self.standing.restart(lostSince: self.at(7))
        self.standing.record(
            Self.findings(
                Self.broken(.thisHost(.kernel(.init(reason: .noCarrier, link: "up", family: .ipv4))), at: .carrier)),
            from: self.at(8), to: self.at(9))
        #expect(self.standing.latest?.since == self.at(7).wall)
    }

    @Test("The published level follows: families that have a route over which nothing works, and why")
    mutating func failing() {
        self.standing.record(Self.findings(Self.provider), from: self.at(0), to: self.at(1))
        #expect(self.standing.latest?.failing == [.ipv4: .limited])
        self.standing.record(Self.findings(Self.sound), from: self.at(2), to: self.at(3))
        #expect(self.standing.latest?.failing == [:])
        self.standing.record(Self.findings(Self.unexplained), from: self.at(4), to: self.at(5))
        #expect(self.standing.latest?.failing == [.ipv4: .timeout], "no party is blamed by a reason")
        let refusal = HostCause.KernelRefusal(reason: .noCarrier, family: .ipv4)
        let unplugged = Self.broken(.thisHost(.kernel(refusal)), at: .carrier)
        self.standing.record(Self.findings(unplugged), from: self.at(9), to: self.at(10))
        #expect(self.standing.latest?.failing == [:], "the kernel's own verdict says it")
    }

    @Test("A clock that is set during an outage moves no order of events")
    mutating func clock() {
        let later = StandingDiagnosis.Moment(monotonic: self.at(12).monotonic, wall: self.at(-31_536_000).wall)
        self.standing.suspect(since: self.at(10))
        self.standing.record(Self.findings(Self.sound), from: later, to: later)
        #expect(self.standing.latest?.state == .decided, "it began after the silence")
    }
}
