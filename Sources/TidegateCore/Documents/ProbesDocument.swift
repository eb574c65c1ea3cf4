/// The scheduled probes as JSON.
package enum ProbesDocument {
    /// The object that `GET /api/v1/probes` gives; `redaction` applies to targets that are URLs.
    package static func json(_ reports: [ScheduledProbeReport], redaction: URLRedaction) -> JSONValue {
        ["schema": 1, "probes": .array(reports.map { $0.json(redaction) })]
    }
}

extension ScheduledProbeReport {
    fileprivate func json(_ redaction: URLRedaction) -> JSONValue {
        let count = { (result: ProbeEvent.Result) in JSONValue.whole(self.counts[result] ?? 0) }
        return [
            "name": .string(self.probe.name), "module": .string(self.probe.module),
            "target": .string(redaction.target(from: self.probe.target)), "everySeconds": .seconds(self.probe.every),
            "result": .optional(self.runs.last?.result.rawValue),
            "answering": self.isAnswering.map { .bool($0) } ?? .null, "uptime": .optional(self.uptime),
            "runs": [
                "success": count(.success), "failure": count(.failure), "inconclusive": count(.inconclusive),
                "overrun": .whole(self.overruns),
            ],
            "lastSuccess": .optional(self.lastSuccess?.description),
            "lastFailure": self.lastFailure.flatMap { run in run.failure?.json(at: run.time) } ?? .null,
            "inconclusive": self.inconclusive?.json(at: self.runs.last?.time) ?? .null,
            "durationSeconds": .seconds(self.runs.last?.duration),
            "certificateExpiry": .optional(self.certificateExpiry?.description),
            "nextRun": .optional(self.nextRun?.description),
        ]
    }
}

extension ProbeFailure {
    fileprivate func json(at time: WallTime?) -> JSONValue {
        [
            "time": .optional(time?.description), "reason": .string(self.reason), "party": .string(self.party.rawValue),
            "text": .string(self.text),
        ]
    }
}
