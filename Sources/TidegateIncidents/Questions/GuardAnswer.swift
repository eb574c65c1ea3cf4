package import TidegateCore

/// Whether a failure that another monitor sees may be this host's own.
package struct GuardAnswer: Sendable, Hashable {
    /// True while this host's side works, false while it is decided that it does not; nil while that is not known.
    package var isClear: Bool?
    /// The responsible party; nil unless something is wrong.
    package var party: FaultParty?
    /// The cause of the failure, or the reason why nothing is known, in one clause; nil while this host's side works.
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
        if level < .routed, level != .unknown, let reason = verdict?.reason ?? status.global.reason,
            reason.party != .theirs
        {
            (self.isClear, self.party, self.cause) = (false, reason.party, reason.description)
        } else if check?.isReached == false, let failure = check?.lastFailure, failure.party != .unknown {
            // A failure beyond this side shows that this side works.
            self.isClear = !failure.party.isThisSide
            if self.isClear == false { (self.party, self.cause) = (failure.party, failure.text) }
        } else if check?.isReached == true, verdict?.path?.gateway == nil || diagnosis?.isBroken != true {
            self.isClear = true
        } else if let diagnosis, diagnosis.state == .decided, diagnosis.explanation.conclusion != .notChecked {
            // The way beyond the provider is not this side, either.
            self.isClear = !diagnosis.isBroken || diagnosis.explanation.party == .path
            if self.isClear == false {
                self.party = diagnosis.explanation.party
                self.cause = diagnosis.explanation.cause?.description ?? diagnosis.sentence
            }
        }
        if self.isClear == true, check?.hasAnswered != true, diagnosis?.provesWayOut != true,
            status.global.level != .online, status.isSilent
        {
            (self.isClear, self.cause) = (nil, "no target is reached, and nothing else shows that the way out works")
        } else if self.isClear == nil {
            self.cause = "this host's way out has not been diagnosed, or is being checked"
        }
        if self.isClear == false { self.incident = incident }
    }

    /// Nothing is known, for this reason.
    package init(unknown cause: String) { self.cause = cause }

    /// The object of `GET /api/v1/guard` and `guard --json`.
    package var json: JSONValue {
        [
            "schema": 1, "clear": self.isClear.map { .bool($0) } ?? .null, "party": .optional(self.party?.rawValue),
            "cause": .optional(self.cause), "incident": .optional(self.incident),
        ]
    }
}

extension ReachabilityStatus {
    /// True if targets are checked and none beyond the gateway answers, or without one beyond it none is reached.
    fileprivate var isSilent: Bool {
        let checked = self.targets.filter { self.checks[$0.target]?.isReached != nil }
        let beyond = checked.filter { $0.verdict.path?.gateway != nil }
        guard !beyond.isEmpty else {
            return !checked.isEmpty && !checked.contains { self.checks[$0.target]?.isReached ?? false }
        }
        return !beyond.contains { self.checks[$0.target]?.hasAnswered ?? false }
    }
}

extension TargetCheckReport {
    /// True if the target was reached, or refused, or answered with an error of TLS or HTTP.
    fileprivate var hasAnswered: Bool {
        let answers: [UnreachableReason?] = [.refused, .tlsFailed, .httpError]
        return self.isReached == true || self.isReached == false && answers.contains(self.lastFailure?.reason)
    }
}

extension HostDiagnosis {
    /// True if a host beyond the gateway has answered; a resolver alone may be on the own link.
    fileprivate var provesWayOut: Bool {
        self.state == .decided && !self.isBroken
            && self.explanation.ladders.contains { $0.rungs.contains { $0.rung == .internet && $0.status == .ok } }
    }
}
