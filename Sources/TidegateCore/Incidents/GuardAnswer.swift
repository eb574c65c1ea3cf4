/// Whether a failure that another monitor sees may be this host's own.
package struct GuardAnswer: Sendable, Hashable {
    /// True while this host's side works, false while it is decided that it does not; nil while that is not known.
    package var isClear: Bool?
    /// Who is responsible, and what is wrong; nil unless something is.
    package var party: FaultParty?
    package var cause: String?
    /// The open incident, if there is one.
    package var incident: String?

    /// Decides for a target, or without one for the way out, by what is known; sends nothing.
    package init(
        for target: Target?, status: ReachabilityStatus, diagnosis: HostDiagnosis?, incident: String? = nil
    ) {
        let verdict = target.flatMap { target in status.targets.first { $0.target == target }?.verdict }
        let check = target.flatMap { status.checks[$0] }
        let level = verdict?.level ?? status.global.level
        if level < .routed, let reason = verdict?.reason ?? status.global.reason, reason.party != .theirs {
            (self.isClear, self.party, self.cause) = (false, reason.party, reason.description)
        } else if check?.isReached == false, let failure = check?.lastFailure, failure.party != .unknown {
            // What fails beyond this side shows that this side works.
            self.isClear = !failure.party.isThisSide
            if self.isClear == false { (self.party, self.cause) = (failure.party, failure.text) }
        } else if check?.isReached == true, verdict?.path?.gateway == nil || diagnosis?.isBroken != true {
            self.isClear = true
        } else if let diagnosis, diagnosis.state == .decided, diagnosis.explanation.conclusion != .notChecked {
            self.isClear = !diagnosis.isBroken
            guard diagnosis.isBroken else { return }
            self.party = diagnosis.explanation.party
            self.cause = diagnosis.explanation.cause?.description ?? diagnosis.sentence
        }
        if self.isClear == false { self.incident = incident }
    }

    /// The object of `GET /api/v1/guard` and `guard --json`.
    package var json: JSONValue {
        [
            "schema": 1, "clear": self.isClear.map { .bool($0) } ?? .null, "party": .optional(self.party?.rawValue),
            "cause": .optional(self.cause), "incident": .optional(self.incident),
        ]
    }
}
