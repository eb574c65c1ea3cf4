/// What checks of a configured target have found.
public struct TargetCheckReport: Sendable, Hashable {
    /// A check that failed.
    public struct Failure: Sendable, Hashable {
        /// When it failed.
        public var time: WallTime
        /// When the first check began that has failed since the target was reached last.
        public var since: WallTime
        /// Why it failed.
        public var reason: UnreachableReason
        /// The responsible party.
        public var party: FaultParty
        /// What was found, in one clause.
        public var text: String
        /// What to do, in one sentence; empty if the cause is not known.
        public var advice: String

        /// A failure from its parts.
        package init(
            time: WallTime, since: WallTime? = nil, reason: UnreachableReason, party: FaultParty, text: String,
            advice: String = ""
        ) {
            self.time = time
            self.since = since ?? time
            (self.reason, self.party, self.text, self.advice) = (reason, party, text, advice)
        }

        var json: JSONValue {
            [
                "time": .string(self.time.description), "since": .string(self.since.description),
                "reason": .string(self.reason.rawValue),
                "party": .string(self.party.rawValue), "text": .string(self.text),
                "advice": .string(self.advice),
            ]
        }
    }

    /// How the target is checked.
    public var check: TargetCheck
    /// True if the target was reached, false if it was not or no packet can be sent to it; nil while it is not checked.
    public var isReached: Bool?
    /// When the target was reached last; nil if it never was.
    public var lastSuccess: WallTime?
    /// When the check began that has no answer yet; nil while none is under way.
    public var checkingSince: WallTime?
    /// The last failure; nil if there was none.
    public var lastFailure: Failure?
    /// When the certificate ends that the server showed last; nil if it showed none.
    public var certificateExpiry: WallTime?
    /// When the next check begins; nil while nothing is checked, without a path or because of the configuration.
    public var nextCheck: WallTime?
    /// How long the phases of the last success took.
    package var phases = PhaseDurations()

    /// A report about a target that has not been checked.
    package init(_ check: TargetCheck) { self.check = check }

    /// From the first packet to the end of the check that reached the target last; nil if none did.
    public var latency: Duration? {
        let parts = [self.phases.connect, self.phases.tls, self.phases.processing].compactMap(\.self)
        return parts.isEmpty ? nil : parts.reduce(.zero, +)
    }
}
