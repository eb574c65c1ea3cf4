import Testing

@testable import TidegateCore

@Suite struct VerdictTests {
    @Test(
        "The global level is the better family, and unknown where one is blind and the other not routed",
        arguments: [
            (ReachabilityLevel.routed, ReachabilityLevel.none, ReachabilityLevel.routed), (.none, .local, .local),
            (.unknown, .none, .unknown),
            (.unknown, .local, .unknown), (.unknown, .routed, .routed), (.online, .routed, .online),
            (.none, .none, .none), (.unknown, .unknown, .unknown),
        ])
    func global(_ four: ReachabilityLevel, _ six: ReachabilityLevel, _ expected: ReachabilityLevel) {
        let families = [(AddressFamily.ipv4, four), (.ipv6, six)].map {
            ReachabilityStatus.Family(family: $0, verdict: Verdict(level: $1))
        }
        #expect(ReachabilityStatus.global(over: families).level == expected)
    }

    @Test("A renamed interface is the same path; another source is another path")
    func samePath() {
        let path = NetworkPath(interface: "eth0", index: 2, source: IPAddress("10.0.0.2"))
        var renamed = path
        renamed.interface = "wan0"
        var moved = path
        moved.source = IPAddress("10.0.0.3")
        let verdict = Verdict(level: .routed, path: path)
        #expect(verdict.isEquivalent(to: Verdict(level: .routed, path: renamed, notes: [.tunnel])))
        #expect(!verdict.isEquivalent(to: Verdict(level: .routed, path: moved)))
        #expect(!verdict.isEquivalent(to: Verdict(level: .routed)))
    }

    @Test("Labels are snake case, JSON values camel case")
    func labels() {
        #expect(UnreachableReason.dadFailed.label == "dad_failed")
        #expect(TaskFailure.tlsPinMismatch.label == "tls_pin_mismatch")
        #expect(ReachabilityLevel.none.label == "none")
        #expect(PathWarning.degradedMultipath(live: 1, total: 2).description == "only 1 of 2 nexthops usable")
        #expect(TaskEvent.RetryReason.status(502).label == "http_5xx")
        #expect(TaskEvent.RetryReason.status(429).label == "http_429")
    }

    @Test(
        "JSON has a note's code and its detail apart, and whether a path's costs are guessed apart from what they are")
    func codes() {
        #expect(
            "\(PathWarning.degradedMultipath(live: 1, total: 2).json)"
                == #"{"code":"degradedMultipath","detail":"1/2"}"#)
        #expect("\(PathWarning.uniqueLocalSource.json)" == #"{"code":"sourceScope","detail":"ula"}"#)
        #expect("\(PathWarning.tunnel.json)" == #"{"code":"tunnel","detail":null}"#)
        let members = Metered.allCases.map { "\(JSONValue.object($0.members))" }
        #expect(
            members == [
                #"{"metered":"yes","meteredGuessed":false}"#, #"{"metered":"no","meteredGuessed":false}"#,
                #"{"metered":"yes","meteredGuessed":true}"#, #"{"metered":"no","meteredGuessed":true}"#,
                #"{"metered":"unknown","meteredGuessed":false}"#,
            ])
    }

    @Test("A change of a path is one clause: what is reached through what, or why it is not")
    func pathSentences() throws {
        let path = NetworkPath(interface: "uplink", index: 2, gateway: IPAddress("10.77.0.1"))
        let (online, lost) = (Verdict(level: .online, path: path), Verdict(level: .none, reason: .noAddress))
        let family = PathEvent(scope: .family(.ipv4), from: lost, to: online)
        #expect(family.sentence() == "IPv4 online through uplink (gateway 10.77.0.1)")
        #expect(PathEvent(scope: .global, from: online, to: lost).sentence() == "No network: no address")
        let target = PathEvent(scope: .target(try Target("a.example:443")), from: online, to: lost)
        #expect(target.sentence() == "a.example:443: no address")
        #expect(target.sentence(naming: "api") == "api: no address")
    }

    @Test("Requirements parse what they print; other texts are refused")
    func requirements() {
        for text in ["none", "routed", "online", "unmetered", "interface:wwan0"] {
            #expect(Requirement(text)?.description == text)
        }
        #expect(Requirement("interface:") == nil)
        #expect(Requirement("reachable") == nil)
    }

    @Test("A fraction never exceeds one, and is nil without a length")
    func fractions() {
        #expect(TransferProgress(offset: 50, receivedWire: 25, expected: 100).fraction == 0.75)
        #expect(TransferProgress(receivedWire: 200, expected: 100).fraction == 1)
        #expect(TransferProgress(receivedWire: 200).fraction == nil)
        #expect(TransferProgress(expected: 0).fraction == 1)
    }
}
