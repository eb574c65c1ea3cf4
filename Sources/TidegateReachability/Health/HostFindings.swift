internal import TidegateAttribution
internal import TidegateCore

/// The result of a diagnosis of the whole host.
package struct HostFindings: Sendable {
    /// The ladders and the conclusion.
    var explanation: Explanation
    var proof: HostProof
    /// The families over which the internet check URLs answer.
    var answering: [AddressFamily]
}

/// The evidence of a diagnosis about each family's gateway and about what lies beyond it.
struct HostProof: Sendable {
    var evidence: [AddressFamily: SilenceEvidence] = [:]
    /// The gateway of each family's default path.
    var gateways: [AddressFamily: IPAddress] = [:]
    var endedAt: MonotonicTime?

    /// The evidence about a family; nil if it is too old.
    func evidence(_ family: AddressFamily, at now: MonotonicTime) -> SilenceEvidence? {
        guard let endedAt = self.endedAt, now - endedAt <= Thresholds.evidenceAge else { return nil }
        var evidence = self.evidence[family]
        evidence?.moment = endedAt
        return evidence
    }
}

/// Diagnoses the way out of this host; provided by the creator of the monitor.
package protocol HostDiagnoser: Sendable {
    /// Diagnoses once, within `limit`.
    func diagnoseHost(within limit: Duration) async -> HostFindings
}
