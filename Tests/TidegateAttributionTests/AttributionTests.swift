import Testing
import TidegateAttribution
import TidegateCore

@Suite struct AttributionTests {
    private static let routed = Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 2))
    private static let cut = Verdict(level: .none, reason: .noCarrier)

    @Test("A lost path explains every symptom on it", arguments: [TaskFailure.timedOut, .reset, .resolveFailed])
    func lostPath(_ failure: TaskFailure) throws {
        let judged = DecisionTable.attribution(
            of: FailureEvidence(
                failure: failure, socketError: .reset,
                refusal: ICMPError(offender: IPAddress("192.0.2.9"), type: 3, code: 0), before: Self.routed,
                after: Self.cut))
        let attribution = try #require(judged)
        #expect(attribution.party == .mine)
        #expect(attribution.rung == .carrier)
    }

    @Test("A path that moved under the attempt is ours")
    func movedPath() {
        let moved = Verdict(
            level: .routed, path: NetworkPath(interface: "wlan0", index: 3, gateway: IPAddress("10.1.0.1")))
        let judged = DecisionTable.attribution(
            of: FailureEvidence(failure: .timedOut, before: Self.routed, after: moved))
        #expect(judged?.party == .mine)
        #expect(judged?.rung == .route)
        #expect(judged?.evidence == ["the path moved from eth0 to wlan0 via 10.1.0.1 under the attempt"])
    }

    @Test(
        "On a steady path the symptom decides",
        arguments: [
            (TaskFailure.connectFailed, nil, .refused, nil, FaultParty.theirs, Rung.tcp),
            (.connectFailed, nil, .networkUnreachable, nil, .upstream, .tcp),
            (.timedOut, nil, nil, nil, .unknown, .tcp), (.tlsFailed, nil, nil, nil, .theirs, .tls),
            (.httpStatus, 503, nil, nil, .theirs, .http), (.httpStatus, 429, nil, nil, .theirs, .http),
            (.httpStatus, 404, nil, nil, .mine, .http), (.resolveFailed, nil, nil, .timedOut, .resolver, .dns),
            (.resolveFailed, nil, nil, .nameNotFound, .mine, .dns), (.truncated, nil, nil, nil, .theirs, .http),
            (.diskFull, nil, nil, nil, .mine, nil),
        ] as [(TaskFailure, Int?, SocketError?, ResolveFailure?, FaultParty, Rung?)])
    func steadyPath(
        _ failure: TaskFailure, _ status: Int?, _ error: SocketError?, _ name: ResolveFailure?,
        _ party: FaultParty, _ rung: Rung?
    ) {
        let judged = DecisionTable.attribution(
            of: FailureEvidence(
                failure: failure, status: status, socketError: error, resolveFailure: name, before: Self.routed,
                after: Self.routed))
        #expect(judged?.party == party)
        #expect(judged?.rung == rung)
    }

    @Test("A closed port of this host is ours, whichever address it is asked on", arguments: ["127.0.0.1", "10.0.0.2"])
    func closedPortOfThisHost(_ peer: String) {
        var local = Self.routed
        local.notes = [.thisHost]
        let judged = DecisionTable.attribution(
            of: FailureEvidence(
                failure: .connectFailed, socketError: .refused, peer: IPAddress(peer), before: local, after: local))
        #expect(judged?.party == .mine)
        #expect(judged?.rung == .tcp)
    }

    @Test("A cancelled task is no party's failure")
    func cancelled() {
        #expect(
            DecisionTable.attribution(of: FailureEvidence(failure: .cancelled, before: Self.cut, after: Self.cut))
                == nil)
    }

    @Test("What the latest diagnosis found explains silence, and nothing that was answered")
    func diagnosis() {
        let gateway = IPAddress(ipv4: 0x0A00_0001)
        var evidence = FailureEvidence(
            failure: .timedOut, stage: .connect, before: Self.routed, after: Self.routed,
            gateway: .unresolved(gateway, link: "eth0", wasReachable: true))
        let attribution = DecisionTable.attribution(of: evidence)
        #expect(attribution?.party == .gateway)
        #expect(attribution?.evidence.contains("the gateway 10.0.0.1 does not answer") == true)
        evidence.stage = .response
        #expect(DecisionTable.attribution(of: evidence)?.party == .gateway, "a connection that stood is silent, too")
        (evidence.failure, evidence.status) = (.httpStatus, 503)
        #expect(DecisionTable.attribution(of: evidence)?.party == .theirs)
        (evidence.failure, evidence.status, evidence.stage) = (.timedOut, nil, .connect)
        (evidence.gateway, evidence.witnesses) = (.answers(gateway), [Witness(.hopWalk, .gateway)])
        #expect(DecisionTable.attribution(of: evidence)?.party == .upstream)
        evidence.failure = .resolveFailed
        evidence.stage = .resolve
        #expect(DecisionTable.attribution(of: evidence)?.party == .upstream, "not the resolver behind it")
        evidence.witnesses = [Witness(.hopWalk, .beyond(nil))]
        #expect(DecisionTable.attribution(of: evidence)?.party == .resolver)
    }

    @Test("Status 511 comes from a captive portal, any other one from the server", arguments: [500, 511])
    func authenticationRequired(status: Int) {
        var evidence = FailureEvidence(failure: .httpStatus, before: Self.routed, after: Self.routed)
        evidence.status = status
        let found = DecisionTable.attribution(of: evidence)
        #expect(found?.party == (status == 511 ? .upstream : .theirs))
    }

    @Test("Behind a captive portal a bad certificate is the portal's")
    func portal() {
        let portal = Verdict(level: .portal, reason: .portal, path: NetworkPath(interface: "eth0", index: 2))
        let judged = DecisionTable.attribution(
            of: FailureEvidence(failure: .tlsFailed, before: Self.routed, after: portal))
        #expect(judged?.party == .upstream)
        #expect(judged?.rung == .internet)
    }
}
