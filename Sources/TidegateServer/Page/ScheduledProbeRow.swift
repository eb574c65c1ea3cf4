internal import TidegateCore

/// A scheduled probe as a row of the page: whether its target answers, how fast, for what share of the time, and what
/// its last failure was.
struct ScheduledProbeRow {
    let report: ScheduledProbeReport
    let redaction: URLRedaction
    let now: WallTime

    /// A certificate that ends sooner than this is told in colour.
    private static let certificateLimit = Duration.seconds(30 * 86_400)

    static let heads = ["Probe", "State", "Latency", "Uptime", "Last failure, and whose", "Certificate"]

    var cells: [Cell] {
        let probe = self.report.probe
        let target = self.redaction.target(from: probe.target)
        return [
            .html(
                "<b>\(HTML.escaped(probe.name))</b>"
                    + "<span class=\"url\">\(HTML.escaped(target)) · \(HTML.escaped(probe.module))</span>"),
            self.state, self.strip, self.uptime, self.lastFailure, self.certificate,
        ]
    }

    private var state: Cell {
        if let failure = self.report.inconclusive {
            let known = self.report.lastConclusive.map { run in
                "<div class=\"note\">\(run.result == .success ? "answered" : "failed") "
                    + "\(HTML.ago(run.time, at: self.now)) ago</div>"
            }
            return .html("not known: \(HTML.escaped(failure.text)) \(Cell.party(failure.party).html)" + (known ?? ""))
        }
        return switch self.report.isAnswering {
        case true?: .good("answers")
        case false?: .bad("fails")
        case nil: .html("<span class=\"note\">not probed yet</span>")
        }
    }

    private var strip: Cell {
        guard !self.report.runs.isEmpty else { return .text(nil) }
        let columns = self.report.runs.map { run in
            switch run.result {
            case .success:
                LatencyStrip.Column(
                    time: run.time, latency: run.duration, style: "hit", title: run.duration.shortText)
            case .failure: LatencyStrip.Column(time: run.time, latency: nil, style: "miss", title: "failed")
            case .inconclusive: LatencyStrip.Column(time: run.time, latency: nil, style: "skip", title: "not known")
            }
        }
        return .html(LatencyStrip(columns: columns, noun: "runs").html)
    }

    private var uptime: Cell {
        guard let uptime = self.report.uptime else { return .text(nil) }
        let left = self.report.counts[.inconclusive] ?? 0
        let note =
            left == 0 ? "" : "<div class=\"note\">\(left) \(left == 1 ? "run" : "runs") left out (own outage)</div>"
        // Rounded down: what failed once is not 100 %.
        let hundredths = Int(uptime * 10_000)
        let text = hundredths == 10_000 ? "100" : "\(hundredths / 100).\(hundredths % 100 / 10)\(hundredths % 10)"
        let since = self.report.since.map { "<div class=\"note\">since \(HTML.time($0))</div>" } ?? ""
        return .html("\(text) %" + since + note)
    }

    private var lastFailure: Cell {
        guard let last = self.report.lastFailure else { return .text(nil) }
        let text = last.failure.map { "\(HTML.escaped($0.text)) \(Cell.party($0.party).html)" } ?? ""
        if self.report.isAnswering == false { return .html(text) }
        return .html("<span class=\"past\">\(HTML.time(last.time)) \(text)</span>")
    }

    private var certificate: Cell {
        guard let end = self.report.certificateExpiry else { return .text(nil) }
        guard end > self.now else { return .bad("has expired") }
        let left = end.since(self.now)
        let text = "ends in \(left.shortText)"
        return left < Self.certificateLimit ? .wait(text) : .text(text)
    }
}

/// The latest probes of `/probe` as a table of the page, each with a link to its log.
struct ProbeRows {
    /// The newest first.
    let reports: [ProbeReport]
    let redaction: URLRedaction
    let now: WallTime

    /// More are in `/logs`.
    private static let limit = 50

    static let heads = ["Time", "Module", "Target", "Result", "Took", "Log"]

    var cells: [[Cell]] {
        self.reports.prefix(Self.limit).map { report in
            [
                .html(HTML.time(report.start)), .text(report.module),
                .html("<span class=\"url\">\(HTML.escaped(self.redaction.target(from: report.target)))</span>"),
                self.result(of: report), .text(report.duration.shortText),
                .html("<a href=\"/logs?id=\(report.number)\">log</a>"),
            ]
        }
    }

    /// The number of probes and of the failures among them.
    var summary: String {
        let failures = self.reports.count { $0.failure != nil && !$0.isGated }
        let gated = self.reports.count { $0.isGated }
        let texts = [(failures, "failed"), (gated, "had no path")].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        return (["\(self.reports.count) remembered"] + texts).joined(separator: ", ")
    }

    // Without a path nothing was asked, which is no failure of the target.
    private func result(of report: ProbeReport) -> Cell {
        guard let failure = report.failure else { return .good("succeeded") }
        let state = report.isGated ? Cell.wait("not probed") : Cell.bad("failed")
        return .html("\(state.html) \(HTML.escaped(failure.text)) \(Cell.party(failure.party).html)")
    }
}
