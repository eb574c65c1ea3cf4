extension Explanation {
    /// The object that `explain --json` gives.
    package var json: JSONValue {
        [
            "schema": 1, "target": .string(self.target),
            "addresses": .array(self.addresses.map { .string($0.description) }),
            "families": .object(self.ladders.map { .init($0.family.rawValue, $0.json) }),
            "firstFailure": .optional(self.firstFailure?.rung.rawValue),
            "party": .optional(self.party?.rawValue), "advice": .string(self.advice),
        ]
    }
}

extension Explanation.Ladder {
    fileprivate var json: JSONValue {
        [
            "rungs": .array(self.rungs.map(\.json)), "firstFailure": .optional(self.firstFailure?.rung.rawValue),
        ]
    }
}

extension RungReport {
    fileprivate var json: JSONValue {
        [
            "rung": .string(self.rung.rawValue), "status": .string(self.status.rawValue),
            "reason": .optional(self.reason?.rawValue), "evidence": .array(self.evidence.map { .string($0) }),
        ]
    }
}
