/// This host's way out or a configured target became slow, or is not slow any more.
public struct QualityEvent: Sendable {
    /// What happened.
    package enum Kind: Sendable, Hashable {
        /// It became slow, or is slow for another reason.
        case degraded
        case recovered
        /// It went down.
        case failed
        /// This host uses another path.
        case moved
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
        case .recovered: return "\(subject) is not slow any more"
        case .failed: return "\(subject) was slow, and is down"
        case .moved: return "\(subject) was slow, and this host uses another path"
        }
    }

    var projection: EventProjection {
        let isSlow = self.kind == .degraded
        return EventProjection(
            isSlow ? "path.degraded" : "path.recovered", isSlow ? .warning : .info,
            isSlow ? "slow" : "not slow any more", self.sentence,
            [
                .both("target", self.target?.description), .both("begins", self.trouble.cause.segment.rawValue),
                .both("party", .word(self.trouble.party)), .both("cause", Cause.slow(self.trouble.cause).code),
                .both("text", Cause.slow(self.trouble.cause).description), .both("advice", self.trouble.advice),
                .both("since", self.trouble.since.description), .both("down", self.kind == .failed),
            ])
    }
}
