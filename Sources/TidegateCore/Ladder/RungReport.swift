/// What was found on one rung of the ladder.
public struct RungReport: Sendable, Hashable {
    /// How a rung stands.
    public enum Status: String, Sendable, CaseIterable, Hashable {
        /// It holds.
        case ok
        /// It fails.
        case bad
        /// It was not climbed, or what was found does not tell.
        case unknown
        /// It does not exist on this way: a tunnel has no gateway to ask.
        case notApplicable
    }

    /// The rung.
    public var rung: Rung
    /// How it stands.
    public var status: Status
    /// Why it fails; nil where it does not.
    public var reason: UnreachableReason?
    /// What was seen, one clause each, as a network engineer would ask for it.
    public var evidence: [String]

    /// A report from its parts.
    public init(rung: Rung, status: Status, reason: UnreachableReason? = nil, evidence: [String] = []) {
        self.rung = rung
        self.status = status
        self.reason = reason
        self.evidence = evidence
    }
}
