/// A check of a configured target has ended.
public struct TargetCheckEvent: Sendable {
    /// The target.
    public var target: Target
    /// What the check did.
    public var kind: TargetCheck.Kind
    /// Why the target was not reached; nil if it was.
    public var failure: TargetCheckReport.Failure?
    /// True if the check before this one found something else, or if this is the first one.
    public var isNews: Bool
    /// When the server's certificate ends; nil if it showed none.
    public var certificateExpiry: WallTime?
    /// How long the phases took that were run.
    package var phases: PhaseDurations

    /// An event from its parts.
    package init(
        target: Target, kind: TargetCheck.Kind, failure: TargetCheckReport.Failure?, isNews: Bool,
        certificateExpiry: WallTime? = nil, phases: PhaseDurations = .init()
    ) {
        self.target = target
        self.kind = kind
        self.failure = failure
        self.isNews = isNews
        self.certificateExpiry = certificateExpiry
        self.phases = phases
    }
}
