/// The configured targets as JSON.
package enum TargetsDocument {
    /// The object that `GET /api/v1/targets` gives; `names` are the targets' names in the configuration.
    package static func json(_ status: ReachabilityStatus, names: [Target: String]) -> JSONValue {
        let targets = status.targets.map { entry in entry.json(name: names[entry.target], status.checks[entry.target]) }
        return ["schema": 1, "targets": .array(targets)]
    }
}

extension TargetVerdict {
    fileprivate func json(name: String?, _ report: TargetCheckReport?) -> JSONValue {
        [
            "name": .string(name ?? self.target.description), "target": .string(self.target.description),
            "check": .string((report?.check.kind ?? .none).rawValue), "level": .string(self.verdict.level.rawValue),
            "reason": .optional(self.verdict.reason?.rawValue), "routed": .bool(self.verdict.level >= .routed),
            "reached": report?.isReached.map { .bool($0) } ?? .null,
            "lastSuccess": .optional(report?.lastSuccess?.description),
            "lastFailure": report?.lastFailure?.json ?? .null,
            "latencySeconds": report?.lastSuccess == nil ? .null : report?.phases.checkJSON ?? .null,
            "certificateExpiry": .optional(report?.certificateExpiry?.description),
            "nextCheck": .optional(report?.nextCheck?.description),
        ]
    }
}

extension TargetCheckReport.Failure {
    fileprivate var json: JSONValue {
        [
            "time": .string(self.time.description), "reason": .string(self.reason.rawValue),
            "party": .string(self.party.rawValue), "text": .string(self.text),
        ]
    }
}

extension PhaseDurations {
    fileprivate var checkJSON: JSONValue {
        [
            "connect": .seconds(self.connect), "tls": .seconds(self.tls), "response": .seconds(self.processing),
        ]
    }
}
