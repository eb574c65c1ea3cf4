import Testing
import TidegateModel

@Suite struct AttributionTests {
    private static let routed = Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 2))
    private static let cut = Verdict(level: .none, reason: .noCarrier)

    @Test("A lost path explains every symptom on it", arguments: [TaskFailure.timedOut, .reset, .resolveFailed])
    func lostPath(_ failure: TaskFailure) throws {
        let judged = Attribution.judge(
            FailureEvidence(failure: failure, socketError: .reset, before: Self.routed, after: Self.cut))
        let attribution = try #require(judged)
        #expect(attribution.party == .mine)
        #expect(attribution.rung == .carrier)
        #expect(attribution.isCertain)
    }

    @Test("A path that moved under the attempt is ours")
    func movedPath() {
        let moved = Verdict(level: .routed, path: NetworkPath(interface: "wlan0", index: 3))
        let judged = Attribution.judge(FailureEvidence(failure: .timedOut, before: Self.routed, after: moved))
        #expect(judged?.party == .mine)
        #expect(judged?.rung == .route)
    }

    @Test(
        "On a steady path the symptom decides",
        arguments: [
            (TaskFailure.connectFailed, nil, .refused, nil, Party.theirs, Rung.tcp),
            (.connectFailed, nil, .networkUnreachable, nil, .upstream, .tcp),
            (.timedOut, nil, nil, nil, .unknown, .tcp), (.tlsFailed, nil, nil, nil, .theirs, .tls),
            (.httpStatus, 503, nil, nil, .theirs, .http), (.httpStatus, 429, nil, nil, .theirs, .http),
            (.httpStatus, 404, nil, nil, .mine, .http), (.resolveFailed, nil, nil, .timedOut, .resolver, .dns),
            (.resolveFailed, nil, nil, .nameNotFound, .theirs, .dns), (.truncated, nil, nil, nil, .theirs, .http),
            (.diskFull, nil, nil, nil, .mine, nil),
        ] as [(TaskFailure, Int?, FailureEvidence.SocketError?, ResolveFailure?, Party, Rung?)])
    func steadyPath(
        _ failure: TaskFailure, _ status: Int?, _ error: FailureEvidence.SocketError?, _ name: ResolveFailure?,
        _ party: Party, _ rung: Rung?
    ) {
        let judged = Attribution.judge(
            FailureEvidence(
                failure: failure, status: status, socketError: error, resolveFailure: name, before: Self.routed,
                after: Self.routed))
        #expect(judged?.party == party)
        #expect(judged?.rung == rung)
    }

    @Test("Nobody is to blame for a cancelled task")
    func cancelled() {
        #expect(
            Attribution.judge(FailureEvidence(failure: .cancelled, before: Self.cut, after: Self.cut)) == nil)
    }
}
