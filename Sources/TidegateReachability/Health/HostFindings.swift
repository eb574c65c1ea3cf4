internal import TidegateAttribution
package import TidegateCore

/// The result of a diagnosis of the whole host.
package struct HostFindings: Sendable {
    /// The ladders and the conclusion.
    var explanation: Explanation
    /// False if a walk towards a public address was not allowed.
    var walked: Bool
    var proof: HostProof
    /// Whether a name server on this host's own link answered, which may do so without anything beyond it.
    var isForwarderAnswering = false
    /// The families over which the internet check URLs answer.
    var answering: [AddressFamily]
}

/// The evidence of a diagnosis about each family's gateway and about what lies beyond it.
struct HostProof: Sendable {
    var evidence: [AddressFamily: SilenceEvidence] = [:]
    /// Each family's default path.
    var paths: [AddressFamily: NetworkPath] = [:]
    var endedAt: MonotonicTime?

    /// The evidence about a family; nil if it is too old.
    func evidence(_ family: AddressFamily, at now: MonotonicTime) -> SilenceEvidence? {
        guard let endedAt = self.endedAt, now - endedAt <= Thresholds.evidenceAge else { return nil }
        var evidence = self.evidence[family]
        evidence?.moment = endedAt
        return evidence
    }
}

/// Diagnoses the way out of this host, and targets; provided by the creator of the monitor.
package protocol HostDiagnoser: Sendable {
    /// The party that is responsible for a target's failure, `unknown` if nothing shows it; nil if it was reached.
    func responsible(for target: Target, within limit: Duration) async -> FaultParty?
    /// Diagnoses once, within `limit`; `isSilent` if some packet has had no answer.
    func diagnoseHost(within limit: Duration, isSilent: Bool) async -> HostFindings
    /// Every way out of this host, and what echoes over those say that are not the only one in use; nil if it is not
    /// known.
    func uplinks() async -> [Uplink]?
    /// Sends each host on a path an echo; without hosts it searches them first.
    func echoes(to hosts: [QualityStatus.Host]?, on path: NetworkPath) async -> EchoRound
    /// Measures a path or a target; nil if it cannot be measured.
    func measure(
        _ subject: QualitySubject, on path: NetworkPath, _ hosts: [QualityStatus.Host]
    ) async -> QualityEvidence?
}
