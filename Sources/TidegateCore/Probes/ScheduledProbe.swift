/// A probe that the sidecar makes on its own schedule.
package struct ScheduledProbe: Sendable, Hashable {
    /// Its name in metrics, in events and on the page.
    package var name = ""
    /// The name of its module.
    package var module = ""
    /// What is probed.
    package var target = ""
    /// From one turn to the next.
    package var every = Duration.zero
    /// By how much of ``every`` a turn may come later, at random.
    package var jitter = 0.1

    /// A probe without the values from its configuration.
    package init() {}

    /// Distinguishes its counts from those of other probes after a restart.
    package var identity: String { [self.name, self.module, self.target].joined(separator: "\n") }
}

/// A run of a scheduled probe that has ended.
package struct ScheduledProbeRun: Sendable, Hashable {
    /// When it ended.
    package let time: WallTime
    /// How long it took.
    package let duration: Duration
    /// The result for the target.
    package let result: ProbeEvent.Result
    /// What was wrong; nil after a success.
    package let failure: ProbeFailure?
}

/// What the runs of a scheduled probe have found.
package struct ScheduledProbeReport: Sendable, Hashable {
    /// The part that survives a restart.
    package struct Past: Sendable, Hashable, Codable {
        /// When the first run ended, in microseconds since 1970.
        package var since: Int64
        /// How many runs ended with each result.
        package var success, failure, inconclusive: UInt64
    }

    /// How many runs are remembered one by one.
    package static let runLimit = 40

    /// The probe.
    package let probe: ScheduledProbe
    /// How many runs ended with each result.
    package private(set) var counts: [ProbeEvent.Result: UInt64] = [:]
    /// When the first run ended that ``counts`` has; nil before it.
    package private(set) var since: WallTime?
    /// How many turns were left out because the run before was not over.
    package private(set) var overruns: UInt64 = 0
    /// The last runs, the oldest first.
    package private(set) var runs: [ScheduledProbeRun] = []
    /// The last run with a result for the target; nil before the first.
    package private(set) var lastConclusive: ScheduledProbeRun?
    /// When the last run that succeeded ended; nil if none did.
    package private(set) var lastSuccess: WallTime?
    /// The last run that failed; nil if none did.
    package private(set) var lastFailure: ScheduledProbeRun?
    /// When the certificate ends that the server showed last; nil if it showed none.
    package private(set) var certificateExpiry: WallTime?
    /// When the next turn is; nil while that is not known.
    package var nextRun: WallTime?

    /// A report about a probe that has not run in this process; `past` is what it found before.
    package init(_ probe: ScheduledProbe, _ past: Past? = nil) {
        self.probe = probe
        guard let past else { return }
        self.since = WallTime(microseconds: past.since)
        self.counts = [.success: past.success, .failure: past.failure, .inconclusive: past.inconclusive]
    }

    /// The part that must survive a restart; nil before the first run.
    package var past: Past? {
        self.since.map { since in
            Past(
                since: since.microseconds, success: self.counts[.success] ?? 0, failure: self.counts[.failure] ?? 0,
                inconclusive: self.counts[.inconclusive] ?? 0)
        }
    }

    /// The share of conclusive runs that succeeded, from 0 to 1; nil while there was none.
    ///
    /// Runs that this host's own network made inconclusive do not count against the target.
    package var uptime: Double? {
        let (good, bad) = (self.counts[.success] ?? 0, self.counts[.failure] ?? 0)
        return good + bad == 0 ? nil : Double(good) / Double(good + bad)
    }

    /// Whether the target answered correctly in the last conclusive run; nil before the first.
    package var isAnswering: Bool? { self.lastConclusive.map { $0.result == .success } }

    /// Why the last run proves nothing about the target; nil if it does.
    package var inconclusive: ProbeFailure? { self.runs.last.flatMap { $0.result == .inconclusive ? $0.failure : nil } }

    /// Records a turn that was left out.
    package mutating func recordOverrun() { self.overruns += 1 }

    /// Records a run that ended at `time`; gives the outcome to publish.
    package mutating func record(
        _ report: ProbeReport, as result: ProbeEvent.Result, at time: WallTime
    ) -> ProbeEvent.Outcome {
        let run = ScheduledProbeRun(
            time: time, duration: report.duration, result: result, failure: report.failure)
        let before = (isAnswering: self.isAnswering, reason: self.lastFailure?.failure?.reason)
        self.counts[result, default: 0] += 1
        self.since = self.since ?? time
        self.runs.append(run)
        if self.runs.count > Self.runLimit { self.runs.removeFirst() }
        let expiry = report.certificateExpiry
        self.certificateExpiry = expiry ?? self.certificateExpiry
        if result != .inconclusive { self.lastConclusive = run }
        if result == .success { self.lastSuccess = time }
        if result == .failure { self.lastFailure = run }
        let isNews =
            switch result {
            case .success: before.isAnswering == false
            case .failure: before.isAnswering != false || before.reason != report.failure?.reason
            case .inconclusive: false
            }
        return ProbeEvent.Outcome(
            result: result, failure: report.failure, duration: report.duration, certificateExpiry: expiry,
            isNews: isNews, isGated: report.isGated, uptime: self.uptime, family: report.family,
            connection: report.connection)
    }

    func json(_ redaction: URLRedaction) -> JSONValue {
        let count = { (result: ProbeEvent.Result) in JSONValue.whole(self.counts[result] ?? 0) }
        return [
            "name": .string(self.probe.name), "module": .string(self.probe.module),
            "target": .string(redaction.target(from: self.probe.target)), "everySeconds": .seconds(self.probe.every),
            "result": .optional(self.runs.last?.result.rawValue),
            "answering": self.isAnswering.map { .bool($0) } ?? .null, "uptime": .optional(self.uptime),
            "since": .optional(self.since?.description),
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

/// The scheduled probes as JSON.
package enum ProbesDocument {
    /// The object that `GET /api/v1/probes` gives; `redaction` applies to targets that are URLs.
    package static func json(_ reports: [ScheduledProbeReport], redaction: URLRedaction) -> JSONValue {
        ["schema": 1, "probes": .array(reports.map { $0.json(redaction) })]
    }
}
