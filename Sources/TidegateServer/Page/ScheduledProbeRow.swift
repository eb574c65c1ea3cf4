internal import TidegateCore

/// A scheduled probe as a row of the page: its state, latency, uptime and last failure.
struct ScheduledProbeRow {
    let report: ScheduledProbeReport
    let redaction: URLRedaction
    let now: WallTime

    static let heads = ["Probe", "State", "Latency", "Uptime", "Last failure, and whose", "Certificate"]

    var cells: [HTML] {
        [
            .name(self.report.probe.name, self.subject), self.state, self.strip, self.uptime, self.lastFailure,
            self.certificate,
        ]
    }

    var row: RowTable.Row {
        let failure = self.report.inconclusive ?? (self.isFailing ? self.report.lastFailure?.failure : nil)
        let clause = failure.map { "; \($0.text) (\($0.party))" } ?? ""
        return .init(cells: self.cells, isUrgent: self.isFailing, detail: self.subject + clause)
    }

    var isFailing: Bool { self.report.isAnswering == false }

    private var subject: String {
        "\(self.redaction.target(from: self.report.probe.target)) · \(self.report.probe.module)"
    }

    private var state: HTML {
        if let failure = self.report.inconclusive {
            let known = self.report.lastConclusive.map { run in
                HTML.note("\(run.result == .success ? "answered" : "failed") \(.ago(run.time, at: self.now)) ago")
            }
            return "\(.failure("not known: \(failure.text)", of: failure.party))\(known)"
        }
        return switch self.report.isAnswering {
        case true?: .good("answers")
        case false?: .bad("fails")
        case nil: HTML("span", class: "note", "not probed yet")
        }
    }

    private var strip: HTML {
        guard !self.report.runs.isEmpty else { return .dash }
        let columns = self.report.runs.map { run -> LatencyStrip.Column in
            switch run.result {
            case .success: (run.time, run.duration, "hit", run.duration.shortText)
            case .failure: (run.time, nil, "miss", "failed")
            case .inconclusive: (run.time, nil, "skip", "not known")
            }
        }
        return LatencyStrip(columns: columns, noun: "runs").html
    }

    private var uptime: HTML {
        guard let uptime = self.report.uptime else { return .dash }
        let left = self.report.counts[.inconclusive] ?? 0
        let leftOut = HTML.note("\(left) \(left == 1 ? "run" : "runs") left out (own outage)")
        // Rounded down, so that a single failure never shows 100 %.
        let hundredths = Int(uptime * 10_000)
        let text = hundredths == 10_000 ? "100" : "\(hundredths / 100).\(hundredths % 100 / 10)\(hundredths % 10)"
        let since = self.report.since.map { HTML.note("since \(.time($0))") }
        return "\(text) %\(since)\(left == 0 ? nil : leftOut)"
    }

    private var lastFailure: HTML {
        guard let last = self.report.lastFailure else { return .dash }
        let text = last.failure.map { HTML.failure("\($0.text)", of: $0.party) } ?? ""
        return self.report.isAnswering == false ? text : HTML("span", class: "past", "\(.time(last.time)) \(text)")
    }

    private var certificate: HTML {
        guard let end = self.report.certificateExpiry else { return .dash }
        guard end > self.now else { return .bad("has expired") }
        let left = end.since(self.now)
        let text = "ends in \(left.shortText)"
        return left < TargetRow.certificateLimit ? .wait(text) : .text(text)
    }
}

/// The latest probes of `/probe` as a table of the page, each with a link to its log.
struct ProbeRows {
    /// Newest first.
    let reports: [ProbeReport]
    let redaction: URLRedaction
    let now: WallTime

    /// `/logs` has the rest.
    private static let limit = 50

    static let heads = ["Time", "Module", "Target", "Result", "Took", "Log"]

    var cells: [[HTML]] {
        self.reports.prefix(Self.limit).map { report in
            [
                .time(report.start), .text(report.module),
                HTML("span", class: "url", "\(self.redaction.target(from: report.target))"),
                self.result(of: report), "\(report.duration.shortText)",
                HTML("a", with: ["href": "/logs?id=\(report.number)"], "log"),
            ]
        }
    }

    /// The number of probes and of failures among them.
    var summary: String {
        let failures = self.reports.count { $0.failure != nil && !$0.isGated }
        let gated = self.reports.count { $0.isGated }
        let texts = [(failures, "failed"), (gated, "had no path")].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        return (["\(self.reports.count) remembered"] + texts).joined(separator: ", ")
    }

    // Without a path no request was sent, so the target has not failed.
    private func result(of report: ProbeReport) -> HTML {
        guard let failure = report.failure else { return .good("succeeded") }
        let state = report.isGated ? HTML.wait("not probed") : .bad("failed")
        return .failure("\(state) \(failure.text)", of: failure.party)
    }
}
