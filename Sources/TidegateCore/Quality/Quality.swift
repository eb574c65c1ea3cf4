/// How good the path to a target is: what was measured of each part, and where the trouble begins.
package struct Quality: Sendable, Hashable {
    /// What makes the target slow; nil if nothing does, or if it is not known.
    package var cause: SlowCause?
    /// What slows a connection of a program to the target; nil if nothing does.
    package var limit: SlowCause?
    /// What to do about it, in one sentence; empty if there is nothing to do.
    package var advice = ""
    /// What was measured.
    package var evidence: QualityEvidence
    /// The parts about which nothing can be said, because a part before them is bad.
    package var hidden: [Segment] = []
    /// What else is worth knowing, one clause each.
    package var findings: [String] = []

    /// What was measured, without a decision.
    package init(_ evidence: QualityEvidence) { self.evidence = evidence }

    /// The hosts that were sent echoes, in the order of the path.
    package var hosts: [QualityEvidence.Host] { self.evidence.hosts + [self.evidence.reference].compactMap(\.self) }

    /// The object `quality` of `explain --json`.
    package var json: JSONValue {
        let segments = self.hosts.map { host -> JSONValue in
            [
                "segment": .string(host.segment.rawValue), "address": .string(host.address.description),
                "lossRatio": .optional(host.lossRatio),
                "lossInterval": host.lossInterval.map { [.number($0.lowerBound), .number($0.upperBound)] } ?? .null,
                "roundTripSeconds": .seconds(host.median), "normalSeconds": .seconds(host.normal),
                "samples": .whole(host.sent),
            ]
        }
        return [
            "slow": .bool(self.cause != nil), "begins": .optional(self.cause?.segment.rawValue),
            "party": .optional(self.cause?.party.rawValue), "cause": .optional(self.cause?.texts.code),
            "advice": .string(self.advice), "segments": .array(segments),
            "limitedBy": .optional(self.limit?.texts.code),
            "cannotJudge": .texts(self.hidden.map(\.rawValue)), "link": self.evidence.own.json,
            "connections": .array(self.evidence.flows.prefix(Self.mostConnections).map(\.json)),
        ]
    }

    private static let mostConnections = 8
}
