import Testing
import TidegateTesting

@testable import TidegateAttribution
@testable import TidegateCore
@testable import TidegateReachability

/// What is asked and said after each piece of evidence about the way out.
@Suite struct HostHealthTests {
    private var health = HostHealth(isWatching: true)

    private func at(_ seconds: Double) -> HostHealth.Moment {
        let time = Duration.seconds(seconds)
        return .init(
            monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000) + time,
            wall: WallTime(microseconds: 1_790_000_000_000_000) + time)
    }

    private static func findings(_ explanation: Explanation) -> HostFindings {
        var found = HostFindings(LadderFindings(target: .internet, families: [.ipv4]))
        found.explanation = explanation
        return found
    }

    static let outage = Self.findings(StandingDiagnosisTests.broken(.provider(.nothingBeyond(gateway: nil))))
    private static let resolver = Self.findings(StandingDiagnosisTests.broken(.resolver(.silent([])), at: .dns))
    private static let sound = Self.findings(StandingDiagnosisTests.sound)

    /// The names of the effects, in order.
    private mutating func names(_ input: HostHealth.Input, at seconds: Double) -> [String] {
        self.health.handle(input, at: self.at(seconds)).map { effect in
            switch effect {
            case .failing: "failing"
            case .revised(let revision): "revised \(revision.to.rawValue)"
            case .internetAnswers: "answers"
            case .known: "known"
            case .publish(let diagnosis): diagnosis.isBroken ? "broken" : "\(diagnosis.state)"
            case .ended: "ended"
            case .diagnose(let round): "diagnose \(round)"
            }
        }
    }

    private func since(_ seconds: Double) -> MonotonicTime { self.at(seconds).monotonic }

    private static let path = NetworkPath(
        interface: "eth0", index: 2, gateway: IPAddress(ipv4: 0x0A00_0001), source: IPAddress(ipv4: 0x0A00_0002))

    private func change(_ from: Verdict, _ to: Verdict, _ scope: PathEvent.Scope = .global) -> HostHealth.Input {
        .path(PathEvent(scope: scope, from: from, to: to))
    }

    @Test("A silence is diagnosed at once, and the level follows before anybody reads the diagnosis")
    mutating func outage() {
        #expect(self.names(.traffic(.silence(since: self.since(9))), at: 10) == ["known", "checking", "diagnose 1"])
        #expect(
            self.names(.diagnosed(round: 1, Self.outage), at: 12)
                == ["failing", "known", "answers", "broken", "ended"])
        #expect(self.health.latest?.since == self.at(9).wall && self.health.failing[.ipv4] != nil)
        #expect(self.health.deadline == self.since(15), "five seconds after the last one began")
        #expect(self.names(.timer, at: 14.9) == [])
        #expect(self.names(.timer, at: 15) == ["diagnose 2"])
        #expect(
            self.names(.diagnosed(round: 2, Self.sound), at: 16) == ["failing", "known", "answers", "decided", "ended"])
        #expect(self.health.failing.isEmpty)
    }

    @Test("An answer that comes late, twice or for another path changes nothing")
    mutating func late() {
        _ = self.names(.traffic(.silence(since: self.since(9))), at: 10)
        #expect(self.names(.diagnosed(round: 0, Self.outage), at: 11) == [])
        let down = Verdict(level: .none, reason: .noCarrier)
        let up = Verdict(level: .routed, path: Self.path)
        #expect(self.names(self.change(up, down), at: 11) == ["known"])
        #expect(self.names(.diagnosed(round: 1, Self.outage), at: 12) == ["ended", "diagnose 2"])
        #expect(self.health.latest == nil)
        #expect(self.names(.diagnosed(round: 1, Self.outage), at: 13) == [])
        #expect(self.names(.diagnosed(round: 2, Self.outage), at: 13).contains("broken"))
        #expect(self.names(.diagnosed(round: 2, Self.sound), at: 14) == [])
    }

    @Test("A diagnosis that never ends is given up after a minute")
    mutating func hanging() {
        #expect(self.names(.asked, at: 0) == ["diagnose 1"])
        #expect(self.names(.asked, at: 1) == [], "it serves both")
        #expect(self.health.deadline == self.since(60))
        #expect(self.names(.timer, at: 60) == ["ended", "diagnose 2"])
        #expect(self.names(.diagnosed(round: 1, Self.outage), at: 61) == [])
    }

    @Test("The level that a diagnosis lowered is no new evidence; a level that an internet check lowered is")
    mutating func loop() {
        let (routed, limited) = (Verdict(level: .routed, path: Self.path), Verdict(level: .limited, path: Self.path))
        _ = self.names(.traffic(.silence(since: self.since(9))), at: 10)
        _ = self.names(.diagnosed(round: 1, Self.outage), at: 12)
        #expect(self.names(self.change(routed, limited), at: 12) == [])
        _ = self.names(.timer, at: 15)
        _ = self.names(.diagnosed(round: 2, Self.sound), at: 16)
        #expect(self.names(self.change(limited, routed), at: 16) == [])
        #expect(self.names(self.change(routed, limited), at: 40) == ["known", "checking", "diagnose 3"])
    }

    @Test(
        "One silent server makes the way out suspicious only if its own party is not known to be to blame",
        arguments: [
            (FaultParty.mine, []), (.theirs, []), (.path, ["diagnose 1"]),
            (.gateway, ["known", "checking", "diagnose 1"]), (.upstream, ["known", "checking", "diagnose 1"]),
            (.resolver, ["known", "checking", "diagnose 1"]), (.unknown, ["known", "checking", "diagnose 1"]),
        ])
    func parties(_ party: FaultParty, _ effects: [String]) {
        var tests = self
        #expect(tests.names(.traffic(.silenceOf(party, since: self.since(1))), at: 2) == effects)
    }

    @Test("An answer is news in an outage only")
    mutating func answers() {
        #expect(self.names(.traffic(.answer), at: 1) == [])
        _ = self.names(.traffic(.silence(since: self.since(1))), at: 2)
        _ = self.names(.diagnosed(round: 1, Self.outage), at: 3)
        #expect(
            self.names(.traffic(.answer), at: 4) == [] && self.health.deadline == self.since(5),
            "three seconds after the last")
    }

    @Test("A diagnosis revises the parties of silent attempts from before it")
    mutating func revisions() throws {
        let attempt = SilentAttempts.Attempt(
            task: try #require(TaskID("00000000-0000-4000-8000-000000000001")), number: 1, party: .unknown,
            silent: .target, family: .ipv4, moment: self.since(1))
        #expect(self.names(.traffic(.attempt(attempt)), at: 1) == [])
        _ = self.names(.traffic(.silenceOf(.unknown, since: self.since(0))), at: 1)
        var found = Self.outage
        found.proof.evidence = [
            .ipv4: SilenceEvidence(
                silent: .target, gateway: .answers(IPAddress(ipv4: 0x0A00_0001)),
                witnesses: [Witness(.hopWalk, .gateway)])
        ]
        #expect(self.names(.diagnosed(round: 1, found), at: 3).contains("revised upstream"))
        #expect(self.health.proof.evidence(.ipv4, at: self.since(33)) != nil)
        #expect(self.health.proof.evidence(.ipv4, at: self.since(34)) == nil)
    }

    @Test("Without a watch nothing is diagnosed unasked, and no level follows")
    mutating func unwatched() {
        self.health = HostHealth(isWatching: false)
        #expect(self.names(.traffic(.silence(since: self.since(0))), at: 1) == [])
        #expect(self.names(.viewed, at: 1) == [] && self.health.deadline == nil)
        #expect(self.names(.asked, at: 2) == ["diagnose 1"])
        #expect(self.names(.diagnosed(round: 1, Self.outage), at: 3) == ["known", "answers", "broken", "ended"])
        #expect(self.health.failing.isEmpty && self.health.latest?.isBroken == true)
    }

    @Test("In an outage behind the router its resolver's silence is no news until it lasts")
    mutating func resolverAfterTheWayOut() {
        _ = self.names(.traffic(.silence(since: self.since(0))), at: 0)
        _ = self.names(.diagnosed(round: 1, Self.outage), at: 2)
        _ = self.names(.timer, at: 5)
        #expect(self.names(.diagnosed(round: 2, Self.resolver), at: 6) == ["known", "answers", "ended"])
        #expect(self.health.latest?.explanation.party == .upstream)
    }
}
