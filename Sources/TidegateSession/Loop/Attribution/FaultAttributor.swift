internal import TidegateAttribution
internal import TidegateCore

/// Attributes failures: to this host, the gateway, the resolver, the path or the server.
///
/// Remembers who could be reached on which path lately, because the fate of others is evidence.
struct FaultAttributor {
    private var history = PeerHistory()

    /// A target was reached on a path, or could not be: any answer at all shows that the path works.
    mutating func note(_ target: UInt64, on path: NetworkPath, isReached: Bool, at now: MonotonicTime) {
        self.history.record(target, on: path.identity, isReached: isReached, at: now)
    }

    /// Attributes a failed attempt on `target`; the evidence is completed with what became of the others on its path.
    ///
    /// What became of them before a diagnosis at `diagnosed` is older than what that found.
    func attribute(
        _ evidence: FailureEvidence, target: UInt64?, on path: NetworkPath?, at now: MonotonicTime,
        diagnosed: MonotonicTime? = nil
    ) -> Attribution? {
        var evidence = evidence
        if let target, let path {
            evidence.peers = self.history.peers(
                of: target, on: path.identity, at: now, since: diagnosed, silentSince: evidence.silentSince)
        }
        return DecisionTable.attribution(of: evidence)
    }

    /// Attributes a failure that was no attempt's, by the verdict alone.
    func attribute(_ failure: TaskFailure, verdict: Verdict) -> Attribution? {
        DecisionTable.attribution(of: FailureEvidence(failure: failure, before: verdict, after: verdict))
    }

    /// The path as it was before the failure, to be compared with the one after it.
    ///
    /// If the best path is still the same, the path of another address is no change of path.
    static func pathBefore(connected: NetworkPath?, first: NetworkPath?, best: NetworkPath?, after: NetworkPath?)
        -> NetworkPath?
    {
        if let connected { return connected }
        guard let best, let first, best.isSamePath(as: first) else { return first }
        return after
    }
}
