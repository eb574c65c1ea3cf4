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

    static func findings(_ explanation: Explanation) -> HostFindings {
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
            case .diagnose(let round, isSilent: _): "diagnose \(round)"
            case .explain(let target): "explain \(target.host)"
            case .quality: "quality"
            case .uplinks(let effect): effect == .ask ? "uplinks" : "uplink"
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

    @Test("A clock that is set during a diagnosis does not move the start of the outage")
    mutating func clockStep() {
        _ = self.names(.traffic(.silence(since: self.since(9))), at: 10)
        let later = HostHealth.Moment(monotonic: self.since(12), wall: self.at(12).wall + .seconds(86_400))
        _ = self.health.handle(.diagnosed(round: 1, Self.outage), at: later)
        #expect(self.health.latest?.since == self.at(9).wall && self.health.latest?.isBroken == true)
        #expect(self.health.deadline == self.since(15))
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

    @Test("After a sleep the way out is diagnosed anew, and a diagnosis from before the sleep says nothing")
    mutating func sleep() {
        let (routed, none) = (Verdict(level: .routed, path: Self.path), Verdict(level: .none, reason: .noCarrier))
        #expect(self.names(.resumed, at: 0) == [], "without a path a sleep changes nothing")
        _ = self.names(self.change(none, routed), at: 1)
        _ = self.names(.timer, at: 2)
        _ = self.names(.diagnosed(round: 1, Self.outage), at: 4)
        #expect(self.names(.resumed, at: 4.5) == ["failing", "known"])
        #expect(self.health.latest == nil && self.health.deadline == self.since(5.5))
        #expect(self.names(.timer, at: 5.5) == ["diagnose 2"])
        #expect(self.names(.resumed, at: 6) == [])
        #expect(self.names(.diagnosed(round: 2, Self.outage), at: 7) == ["ended", "diagnose 3"])
        #expect(self.health.latest == nil)
    }

    @Test("Another path and a lost path are changes of the kernel's state; another level on one path is not")
    func kernelState() {
        let routed = Verdict(level: .routed, path: Self.path)
        var other = Self.path
        other.gateway = IPAddress(ipv4: 0x0A00_00FE)
        let rows = [
            (Verdict(level: .limited, path: Self.path), false), (Verdict(level: .online, path: Self.path), false),
            (Verdict(level: .routed, path: other), true), (Verdict(level: .none, reason: .noCarrier), true),
        ]
        for (verdict, isOfKernel) in rows {
            let event = PathEvent(scope: .family(.ipv4), from: routed, to: verdict)
            #expect(event.isOfKernel == isOfKernel, "\(verdict)")
        }
    }

    @Test("A target shares the cause of a dead way out if packets to it take the same next hop")
    mutating func sharedCause() {
        let server = IPAddress(ipv4: 0xC633_6402)
        let explanation = StandingDiagnosisTests.broken(.thisHost(.tunnelInItself("vpn0")))
        var found = Self.findings(explanation)
        var (tunnel, other) = (Self.path, Self.path)
        (tunnel.gateway, other.gateway, other.index) = (nil, nil, 9)
        found.proof.paths = [.ipv4: tunnel]
        found.proof.evidence = [.ipv4: SilenceEvidence(silent: .target)]
        _ = self.names(.asked, at: 0)
        _ = self.names(.diagnosed(round: 1, found), at: 1)
        #expect(self.health.outage(at: server, over: tunnel, at: self.since(2)) == explanation.cause)
        for path in [Self.path, other, nil] {
            #expect(self.health.outage(at: server, over: path, at: self.since(2)) == nil)
        }
    }

    @Test("The ways out are asked after the start, and the used one has the state of the diagnosis")
    mutating func uplinks() {
        self.health = HostHealth(isWatching: true, uplinks: UplinkWatch(at: self.since(0)))
        var standby = Uplink("lte", nil)
        standby.state = .works
        let found = [Uplink("eth0", Self.path.gateway, .ipv4, .used), standby]
        let (routed, none) = (Verdict(level: .routed, path: Self.path), Verdict(level: .none, reason: .noCarrier))
        _ = self.names(self.change(none, routed), at: 1)
        _ = self.names(.timer, at: 2)
        _ = self.names(.diagnosed(round: 1, Self.sound), at: 3)
        #expect(self.names(.timer, at: 5) == ["uplinks"])
        #expect(self.names(.uplinks(found), at: 6) == ["uplink"])
        _ = self.names(.traffic(.silence(since: self.since(6))), at: 7)
        #expect(self.names(.diagnosed(round: 2, Self.outage), at: 8).last == "uplink")
        #expect(self.health.uplinks?.uplinks.map(\.state) == [.provider, .works])
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
        #expect(tests.names(.traffic(.silenceOf(party, of: nil, since: self.since(1))), at: 2) == effects)
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
        let attempt = OpenAttempts.Attempt(
            task: try #require(TaskID("00000000-0000-4000-8000-000000000001")), number: 1, party: .unknown,
            doubt: .init(silent: .target), remote: Self.remote, start: self.since(0),
            moment: self.since(1))
        #expect(self.names(.traffic(.attempt(attempt)), at: 1) == ["known", "checking", "diagnose 1"])
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

    private static let target = "web.test:443"
    private static let remote = IPAddress(ipv4: 0x0808_0808)

    private func attempt(
        _ number: Int, at seconds: Double, to target: String = Self.target, _ party: FaultParty = .theirs,
        _ silent: SilenceEvidence.Silent? = nil
    ) throws -> HostHealth.Input {
        .traffic(
            .attempt(
                OpenAttempts.Attempt(
                    task: try #require(TaskID("00000000-0000-4000-8000-000000000001")), number: number, party: party,
                    doubt: .init(silent: silent, target: try Target(target)), remote: Self.remote,
                    start: self.since(seconds - 1), moment: self.since(seconds))))
    }

    @Test("A target that refuses attempts is diagnosed once in half a minute, and all of them have the party found")
    mutating func refusals() throws {
        #expect(self.names(try self.attempt(1, at: 1), at: 1) == ["explain web.test"])
        #expect(self.names(try self.attempt(2, at: 2), at: 2) == [])
        #expect(self.names(.explained(try Target(Self.target), .mine), at: 3) == ["revised mine", "revised mine"])
        #expect(self.names(.explained(try Target(Self.target), .theirs), at: 4) == [], "twice")
        #expect(self.names(try self.attempt(3, at: 33), at: 33) == ["revised mine"])
        #expect(self.names(try self.attempt(4, at: 34), at: 34) == ["explain web.test"])
        #expect(self.names(.explained(try Target(Self.target), nil), at: 35) == [], "it works again")
    }

    @Test("While the way out is in doubt its diagnosis comes first, and another path ends what was found about targets")
    mutating func refusalsInDoubt() throws {
        _ = self.names(.traffic(.silence(since: self.since(0))), at: 0)
        #expect(self.names(try self.attempt(1, at: 1), at: 1) == [])
        #expect(self.names(.diagnosed(round: 1, Self.sound), at: 2).last == "explain web.test")
        _ = self.names(.explained(try Target(Self.target), .mine), at: 3)
        let (up, down) = (Verdict(level: .routed, path: Self.path), Verdict(level: .none, reason: .noCarrier))
        _ = self.names(self.change(up, down), at: 4)
        #expect(self.names(try self.attempt(2, at: 5), at: 5) == ["explain web.test"])
    }

    @Test("A configured target that fails by its check has the party of the check in attempts as well")
    mutating func checkedTarget() throws {
        let failure = TargetCheckReport.Failure(
            time: self.at(0).wall, reason: .refused, party: .gateway, text: "a firewall of the router")
        var check = TargetCheckEvent(target: try Target(Self.target), kind: .tcp, failure: failure, isNews: false)
        _ = self.names(.checked(check, nil), at: 1)
        #expect(self.names(try self.attempt(1, at: 2), at: 2) == ["revised gateway"])
        check.failure = nil
        _ = self.names(.checked(check, nil), at: 3)
        #expect(self.names(try self.attempt(2, at: 4), at: 4) == ["explain web.test"])
    }

    @Test("A diagnosis of a target that began on another path charges no attempt")
    mutating func explainedElsewhere() throws {
        _ = self.names(try self.attempt(1, at: 1), at: 1)
        let (up, down) = (Verdict(level: .routed, path: Self.path), Verdict(level: .none, reason: .noCarrier))
        _ = self.names(self.change(down, up), at: 2)
        #expect(
            self.names(.explained(try Target(Self.target), .gateway), at: 3) == ["diagnose 1", "explain web.test"])
    }

    @Test("A remote that was silent in an outage is news in the next one, and a kept outage is asked about again")
    mutating func nextOutage() {
        let silence = HostHealth.Input.traffic(.silenceOf(.unknown, of: Self.remote, since: self.since(0)))
        _ = self.names(silence, at: 0)
        var kept = Self.outage
        kept.isForwarderAnswering = true
        _ = self.names(.diagnosed(round: 1, kept), at: 1)
        _ = self.names(.timer, at: 5)
        _ = self.names(.diagnosed(round: 2, Self.sound), at: 6)
        #expect(self.health.latest?.isBroken == true && self.health.deadline == self.since(10))
        _ = self.names(.timer, at: 10)
        var proven = Self.sound
        proven.proof.evidence[.ipv4] = SilenceEvidence(silent: .target, witnesses: [Witness(.target, .beyond(nil))])
        _ = self.names(.diagnosed(round: 3, proven), at: 11)
        #expect(self.health.latest?.isBroken == false)
        #expect(self.names(silence, at: 20).contains("checking"))
    }

    @Test("A remote that is silent while the way out works puts it in doubt once a minute")
    mutating func silentRemote() throws {
        func silence(of remote: IPAddress?, at seconds: Double) -> HostHealth.Input {
            .traffic(.silenceOf(.unknown, of: remote, since: self.since(seconds)))
        }
        let checking = ["known", "checking"]
        #expect(self.names(silence(of: Self.remote, at: 0), at: 1) == checking + ["diagnose 1"])
        _ = self.names(.diagnosed(round: 1, Self.sound), at: 2)
        #expect(self.names(silence(of: Self.remote, at: 60), at: 61) == ["diagnose 2"], "as for a reader")
        _ = self.names(.diagnosed(round: 2, Self.sound), at: 62)
        #expect(self.names(silence(of: Self.remote, at: 66), at: 67) == checking + ["diagnose 3"])
        _ = self.names(.diagnosed(round: 3, Self.sound), at: 68)
        let another = silence(of: IPAddress(ipv4: 0x0909_0909), at: 71)
        #expect(self.names(another, at: 72) == checking + ["diagnose 4"])
        _ = self.names(.diagnosed(round: 4, Self.sound), at: 73)
        let (up, down) = (Verdict(level: .none, reason: .noCarrier), Verdict(level: .routed, path: Self.path))
        _ = self.names(self.change(up, down), at: 74)
        #expect(self.names(silence(of: Self.remote, at: 78), at: 79).contains("checking"))
    }

    @Test("A flood of failing targets is diagnosed two at a time, and a diagnosis that never ends blocks none for long")
    mutating func flood() throws {
        var asked: [String] = []
        for number in 1...1_000 {
            asked += self.names(try self.attempt(1, at: 1, to: "h\(number).test:80"), at: 1)
        }
        #expect(asked == ["explain h1.test", "explain h2.test"])
        #expect(self.names(.explained(try Target("h2.test:80"), nil), at: 2) == ["explain h3.test"])
        let late = self.names(try self.attempt(1, at: 90), at: 90)
        #expect(late == ["explain web.test"], "the attempts of before are too old by then")
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
