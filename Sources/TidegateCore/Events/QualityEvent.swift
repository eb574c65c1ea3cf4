/// This host's way out or a configured target became slow, or is not slow any more.
public struct QualityEvent: Sendable {
    /// What happened.
    package enum Kind: Sendable, Hashable {
        /// It became slow, or is slow for another reason.
        case degraded
        /// It is not called slow any more.
        case ended(Incident.EndReason)
    }

    /// The target; nil for this host's way out.
    package var target: Target?
    package var kind: Kind
    /// What is or was slow.
    package var trouble: QualityStatus.Trouble

    /// An event from its parts.
    package init(_ kind: Kind, target: Target?, _ trouble: QualityStatus.Trouble) {
        (self.kind, self.target, self.trouble) = (kind, target, trouble)
    }

    private var sentence: String {
        let subject = self.target?.description ?? "the network"
        switch self.kind {
        case .degraded: return "\(subject) is slow: \(Cause.slow(self.trouble.cause)) (\(self.trouble.party))"
        case .ended(let reason):
            return reason.clause.map { "\(subject) was slow, and \($0)" } ?? "\(subject) is not slow any more"
        }
    }

    var projection: EventProjection {
        let end: Incident.EndReason? = if case .ended(let reason) = self.kind { reason } else { nil }
        return EventProjection(
            end == nil ? "path.degraded" : "path.recovered", end == nil ? .warning : .info,
            end == nil ? "slow" : end == .recovered ? "not slow any more" : "slowness ended", self.sentence,
            [
                .both("target", self.target?.description), .both("begins", self.trouble.cause.segment.rawValue),
                .both("party", .word(self.trouble.party)), .both("cause", Cause.slow(self.trouble.cause).code),
                .both("text", Cause.slow(self.trouble.cause).description), .both("advice", self.trouble.advice),
                .both("since", self.trouble.since.description), .both("down", end == .failed),
                .both("endReason", end?.rawValue, log: "end_reason"),
            ])
    }
}
