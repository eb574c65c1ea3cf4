internal import TidegateCore

/// The connections of other programs as a table of the page: one row for each remote, those that hang first.
struct ConnectionRows {
    let report: ConnectionsReport

    /// More are in `/api/v1/connections`.
    private static let limit = 50

    static let heads = ["Remote", "Connections", "Hanging", "Round trip", "Answered", "In 5 minutes"]

    var cells: [[Cell]] {
        self.report.remotes.prefix(Self.limit).map { remote in
            [
                self.name(of: remote), self.count(of: remote), self.stalled(remote),
                self.roundTrip(of: remote), .text(remote.answered.map { "\($0.shortText) ago" }),
                self.outcomes(of: remote),
            ]
        }
    }

    /// The number of connections, of remotes and of those that hang; empty if there are none.
    var summary: String {
        guard !self.report.remotes.isEmpty else { return "" }
        let connections = self.report.remotes.reduce(0) { $0 + $1.connectionCount }
        let stalled = self.report.remotes.reduce(0) { $0 + $1.stalledCount }
        return
            "\(connections) with \(self.report.remotes.count) \(self.report.remotes.count == 1 ? "remote" : "remotes")"
            + (stalled > 0 ? ", \(stalled) \(stalled == 1 ? "hangs" : "hang")" : "")
    }

    /// What is missing, in a sentence; empty if nothing is.
    var caveat: String {
        var sentences: [String] = []
        if self.report.mode != .event {
            let reason = self.report.reason.map { ": \($0)" } ?? ""
            sentences.append("Connections are observed by \(self.report.mode.description)\(reason).")
        }
        if self.report.dropped > 0 {
            sentences.append("The kernel dropped \(self.report.dropped) messages, so that some ends are missing.")
        }
        return sentences.isEmpty ? "" : "<p class=\"note\">\(HTML.escaped(sentences.joined(separator: " ")))</p>"
    }

    /// Instead of a table without rows.
    var none: String { "<p class=\"empty\">None\(self.report.mode.hasLists ? "" : " are listed").</p>" }

    /// How many remotes there are beyond those shown; empty if there is none.
    var rest: String {
        let rest = self.report.remotes.count - Self.limit
        return rest > 0 ? "<p class=\"note\">\(rest) more are in <a href=\"/api/v1/connections\">the list</a>.</p>" : ""
    }

    private func name(of report: RemoteReport) -> Cell {
        let address = "<span class=\"url\">\(HTML.escaped(report.remote.description))</span>"
        guard let target = report.target else { return .html(address) }
        return .html("<b>\(HTML.escaped(target))</b>\(address)")
    }

    private func count(of report: RemoteReport) -> Cell {
        let parts = [(report.connecting, "being opened"), (report.closing, "closing")].filter { $0.0 > 0 }
        let note =
            parts.isEmpty
            ? "" : "<div class=\"note\">\(parts.map { "\($0.0) \($0.1)" }.joined(separator: ", "))</div>"
        return .html("\(report.connectionCount)" + note)
    }

    private func stalled(_ report: RemoteReport) -> Cell {
        guard report.stalledCount > 0 else { return .text(nil) }
        let kinds = ConnectionStall.allCases.compactMap { kind in
            report.stalled[kind].map { "\($0): \(kind.description)" }
        }
        let next = report.nextTry.map { "<div class=\"note\">sent again in \($0.shortText)</div>" } ?? ""
        let party = report.party.map { " " + Cell.party($0).html } ?? ""
        return .html(Cell.bad(kinds.joined(separator: "; ")).html + party + next)
    }

    private func roundTrip(of report: RemoteReport) -> Cell {
        guard report.retransmittedSegments > 0, let share = report.retransmissionText else {
            return .text(report.shortestRoundTrip?.shortText)
        }
        return .html((report.shortestRoundTrip?.shortText ?? "") + "<div class=\"note\">\(share) sent again</div>")
    }

    private func outcomes(of report: RemoteReport) -> Cell {
        let known = ConnectionOutcome.allCases.filter { report.outcomes[$0] != nil }
        // Failures first: the rest is how many went well.
        let failures = known.filter(\.isFailure).flatMap { self.failures($0, of: report) }
        let others = known.filter { !$0.isFailure }.map { "\(report.outcomes[$0] ?? 0) \($0.description)" }
        let strip = OutcomeStrip(history: report.history).html
        let lines =
            (strip.isEmpty ? [] : [strip]) + failures
            + (others.isEmpty ? [] : [Cell.text(others.joined(separator: ", ")).html])
        return lines.isEmpty ? .text(nil) : .html(lines.joined(separator: "<br>"))
    }

    // Whose they were, and those of which nobody knows yet.
    private func failures(_ outcome: ConnectionOutcome, of report: RemoteReport) -> [String] {
        let parties = FaultParty.allCases.compactMap { party in
            report.failures[outcome]?[party].map { (count: $0, html: " " + Cell.party(party).html) }
        }
        let rest = (report.outcomes[outcome] ?? 0) - parties.reduce(0) { $0 + $1.count }
        return (parties + (rest > 0 ? [(rest, "")] : [])).map {
            Cell.bad("\($0.count) \(outcome.description)").html + $0.html
        }
    }
}

/// What became of a remote's connections in the last five minutes, as columns of ten seconds: failures at the bottom in the
/// colours of their parties, and those that went well above them.
struct OutcomeStrip {
    let history: [RemoteReport.Interval]

    private static let columns = 30
    private static let height = 20

    /// Empty if there is nothing to draw.
    var html: String {
        guard let most = self.history.map(\.total).max(), most > 0 else { return "" }
        let rects = self.history.map { self.column($0, most: most) }.joined()
        return "<svg class=\"strip\" viewBox=\"0 0 150 \(Self.height)\" preserveAspectRatio=\"xMinYMid\" role=\"img\" "
            + "aria-label=\"outcomes in the last five minutes\">"
            + "<rect class=\"grid\" x=\"0\" y=\"\(Self.height - 1)\" width=\"150\" height=\"1\"/>\(rects)</svg>"
    }

    private func column(_ interval: RemoteReport.Interval, most: Int) -> String {
        let age = Int(interval.age.components.seconds / RemoteReport.Interval.length.components.seconds)
        guard age < Self.columns else { return "" }
        // The latest is at the right edge.
        let x = (Self.columns - 1 - age) * 5
        var rects = ""
        var top = Self.height
        for (style, count) in interval.parts {
            // What happened can be seen, however much else did.
            let height = min(top, max(3, count * Self.height / most))
            top -= height
            rects += "<rect class=\"\(style)\" x=\"\(x)\" y=\"\(top)\" width=\"4\" height=\"\(height)\"/>"
        }
        return "<g><title>\(HTML.escaped(interval.title))</title>\(rects)</g>"
    }
}

extension RemoteReport.Interval {
    fileprivate var total: Int { self.succeeded + self.failures.values.reduce(0, +) }

    /// The classes of the page with their counts, from the bottom.
    fileprivate var parts: [(style: String, count: Int)] {
        let failures = FaultParty.allCases.compactMap { party in
            self.failures[party].map { (style: "party-\(party.rawValue)", count: $0) }
        }
        return failures + (self.succeeded > 0 ? [("fine", self.succeeded)] : [])
    }

    /// `20 s ago: 3 ok, 2 failed (the server)`.
    fileprivate var title: String {
        let failures = FaultParty.allCases.compactMap { party in
            self.failures[party].map { "\($0) failed (\(party))" }
        }
        let parts = (self.succeeded > 0 ? ["\(self.succeeded) ok"] : []) + failures
        return (self.age == .zero ? "now" : "\(self.age.shortText) ago") + ": " + parts.joined(separator: ", ")
    }
}

/// The last checks of a target or a probe as columns: the height is the latency, a failure has the whole height and
/// another colour.
struct LatencyStrip {
    /// One check.
    struct Column {
        let time: WallTime
        /// How high it is; nil for the whole height.
        let latency: Duration?
        /// How it is drawn: `hit`, `miss` or `skip`.
        let style: String
        /// What it says when it is pointed at.
        let title: String
    }

    private static let limit = 40

    /// The oldest first.
    let columns: [Column]
    /// What they are, for those who do not see them: `checks`.
    let noun: String

    var html: String {
        let highest = max(1e-6, self.columns.compactMap { $0.latency?.inSeconds }.max() ?? 0)
        // The latest is at the right edge.
        let first = max(0, Self.limit - self.columns.count)
        let rects = self.columns.enumerated().map { place, column in
            let height = column.latency.map { max(2, Int(($0.inSeconds / highest * 20).rounded())) } ?? 20
            return
                "<rect class=\"\(column.style)\" x=\"\((first + place) * 4)\" y=\"\(20 - height)\" "
                + "width=\"3\" height=\"\(height)\"><title>\(column.time.clockTime) UTC: \(column.title)</title></rect>"
        }
        let latest = self.columns.last?.title ?? ""
        return "<svg class=\"strip\" viewBox=\"0 0 160 20\" role=\"img\" "
            + "aria-label=\"the last \(self.columns.count) \(self.noun)\">" + rects.joined()
            + "</svg> <span class=\"note\">\(latest)</span>"
    }
}
