/// A measurement of this host's ladder: what `explain` without an argument says, and when that was found.
package struct HostDiagnosis: Sendable, Hashable {
    /// The ladders, whose failure it is, and what to do.
    package var explanation: Explanation
    /// When the measurement ended.
    package var time: WallTime
    /// Since when the same rung has failed or, if none does, since when none has; nil if that is not known.
    package var since: WallTime?

    /// A measurement from its parts.
    package init(explanation: Explanation, time: WallTime, since: WallTime? = nil) {
        self.explanation = explanation
        self.time = time
        self.since = since
    }
}

extension HostDiagnosis {
    /// The object that `/api/v1/status` has as `diagnosis`: that of `explain --json`, and when it was made.
    package var json: JSONValue {
        self.explanation.json.adding(.init("time", .string(self.time.description)))
            .adding(.init("since", .optional(self.since?.description)))
    }
}
