/// A change of a verdict, or of the path although the level stayed.
public struct PathEvent: Sendable {
    /// What the verdict is about.
    public enum Scope: Sendable, Hashable {
        /// The better of the families.
        case global
        /// One family's sentinels.
        case family(AddressFamily)
        /// One target.
        case target(Target)
    }

    /// What the verdict is about.
    public var scope: Scope
    /// The verdict before.
    public var from: Verdict
    /// The verdict now.
    public var to: Verdict
    /// How long ``from``'s level had lasted; nil for the first verdict.
    public var lasted: Duration?
    /// From reading the kernel's message to the verdict; nil if no message led to it.
    public var detection: Duration?

    /// A change from its parts.
    package init(scope: Scope, from: Verdict, to: Verdict, lasted: Duration? = nil, detection: Duration? = nil) {
        self.scope = scope
        self.from = from
        self.to = to
        self.lasted = lasted
        self.detection = detection
    }
}

/// A change of a link's admin state, carrier, operstate, usability or reason; or its coming or going.
public struct LinkEvent: Sendable {
    /// The link before; nil when it is new.
    public var from: Link?
    /// The link now; nil when it is gone.
    public var to: Link?

    /// A change from its parts.
    package init(from: Link?, to: Link?) {
        self.from = from
        self.to = to
    }
}

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
