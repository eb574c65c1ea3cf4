internal import TidegateAttribution
internal import TidegateCore

/// What the latest diagnosis proved about each family's gateway and what lies beyond it.
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
