/// What was found on one rung of the ladder.
public struct RungReport: Sendable, Hashable {
    /// How a rung stands.
    public enum Status: String, Sendable, CaseIterable, Hashable {
        /// It holds.
        case ok
        /// It fails.
        case bad
        /// It was not checked, or what was found does not decide.
        case unknown
        /// It does not exist on this path: a tunnel has no gateway.
        case notApplicable
    }

    /// The rung.
    public var rung: Rung
    /// How it stands.
    public var status: Status
    /// Why it fails; nil if it does not.
    public var reason: UnreachableReason?
    /// The name of the link that the reason is about; nil if it is about none.
    package var link: String?
    /// What was found, one clause each.
    public var evidence: [String]

    /// A report from its parts.
    package init(
        rung: Rung, status: Status, reason: UnreachableReason? = nil, link: String? = nil, evidence: [String] = []
    ) {
        self.rung = rung
        self.status = status
        self.reason = reason
        self.link = link
        self.evidence = evidence
    }
}
