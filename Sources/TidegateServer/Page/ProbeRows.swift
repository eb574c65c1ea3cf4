internal import TidegateCore

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
        let state = report.isGated ? Cell.wait("not asked") : Cell.bad("failed")
        return .html("\(state.html) \(HTML.escaped(failure.text)) \(Cell.party(failure.party).html)")
    }
}
