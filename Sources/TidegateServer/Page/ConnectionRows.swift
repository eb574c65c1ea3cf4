internal import TidegateCore

/// The page's table of other programs' connections: one row for each remote, those that hang first.
struct ConnectionRows {
    let report: ConnectionsReport

    /// `/api/v1/connections` has the rest.
    private static let limit = 50

    static let heads = ["Remote", "Connections", "Hanging", "Round trip", "Answered", "In 5 minutes"]

    var cells: [[HTML]] {
        self.report.remotes.prefix(Self.limit).map { remote in
            [
                .name(remote.target, remote.remote.description), self.count(of: remote), self.stalled(remote),
                self.roundTrip(of: remote), .text(remote.answered.map { "\($0.shortText) ago" }),
                self.outcomes(of: remote),
            ]
        }
    }

    /// The number of connections, remotes and hanging connections; empty if there are none.
    var summary: String {
        guard !self.report.remotes.isEmpty else { return "" }
        let connections = self.report.remotes.reduce(0) { $0 + $1.connectionCount }
        let stalled = self.report.remotes.reduce(0) { $0 + $1.stalledCount }
        return
            "\(connections) with \(self.report.remotes.count) \(self.report.remotes.count == 1 ? "remote" : "remotes")"
            + (stalled > 0 ? ", \(stalled) \(stalled == 1 ? "hangs" : "hang")" : "")
    }

    /// What the report lacks, in a sentence; nil if nothing.
    var caveat: HTML? {
        let sentences = self.report.caveats.map { "\($0.prefix(1).uppercased())\($0.dropFirst())." }
        return sentences.isEmpty ? nil : HTML("p", class: "note", "\(sentences.joined(separator: " "))")
    }

    /// Replaces an empty table.
    var none: HTML { "None\(self.report.mode.hasLists ? "" : " are listed")." }

    /// The number of remotes that are not shown; nil if all are.
    var rest: HTML? {
        let rest = self.report.remotes.count - Self.limit
        let list = HTML("a", with: ["href": "/api/v1/connections"], "the list")
        return rest > 0 ? HTML("p", class: "note", "\(rest) more are in \(list).") : nil
    }

    private func count(of report: RemoteReport) -> HTML {
        let parts = [(report.connecting, "being opened"), (report.closing, "closing")].filter { $0.0 > 0 }
        let notes: [HTML] = parts.map { "\($0.0) \($0.1)" }
        return "\(report.connectionCount)\(notes.joined(separator: ", ", in: "div", class: "note"))"
    }

    private func stalled(_ report: RemoteReport) -> HTML {
        guard report.stalledCount > 0 else { return .dash }
        let kinds = ConnectionStall.allCases.compactMap { kind in
            report.stalled[kind].map { "\($0): \(kind.description)" }
        }
        let next = report.nextTry.map { HTML.note("sent again in \($0.shortText)") }
        return "\(.failure(.bad(kinds.joined(separator: "; ")), of: report.party))\(next)"
    }

    private func roundTrip(of report: RemoteReport) -> HTML {
        let share = report.retransmittedSegments > 0 ? report.retransmissionText.map { "\($0) sent again" } : nil
        let limit: String? =
            switch report.limitedBy {
            case .remoteWindow: "the remote takes little at a time"
            case .sendBuffer: "the program's send buffer is small"
            case .network, .program, nil: nil
            }
        let notes = [share, limit].compactMap(\.self).map { HTML.note("\($0)") }
        guard !notes.isEmpty else { return .text(report.shortestRoundTrip?.shortText) }
        return "\(report.shortestRoundTrip?.shortText ?? "")\(notes.joined())"
    }

    private func outcomes(of report: RemoteReport) -> HTML {
        let known = ConnectionOutcome.allCases.filter { report.outcomes[$0] != nil }
        // Failures first; the rest is the number of successes.
        let failures = known.filter(\.isFailure).flatMap { self.failures($0, of: report) }
        let others = known.filter { !$0.isFailure }.map { "\(report.outcomes[$0] ?? 0) \($0.description)" }
        let strip = OutcomeStrip(history: report.history).html
        let lines =
            [strip].compactMap(\.self) + failures + (others.isEmpty ? [] : ["\(others.joined(separator: ", "))"])
        return lines.isEmpty ? .dash : lines.joined(separator: .lineBreak)
    }

    // The responsible parties, and failures without a known party.
    private func failures(_ outcome: ConnectionOutcome, of report: RemoteReport) -> [HTML] {
        let failures = report.failures[outcome] ?? [:]
        let rest = (report.outcomes[outcome] ?? 0) - failures.values.reduce(0, +)
        return failures.inOrder.map { .failure(.bad("\($0.count) \(outcome.description)"), of: $0.party) }
            + (rest > 0 ? [.bad("\(rest) \(outcome.description)")] : [])
    }
}

/// The outcomes of a remote's connections in the last five minutes, in columns of ten seconds.
///
/// Failures are at the bottom in the colours of their parties, with successes above them.
struct OutcomeStrip {
    let history: [RemoteReport.Interval]

    private static let columns = 30
    private static let height = 20

    /// Nil if there is nothing to draw.
    var html: HTML? {
        guard let most = self.history.map(\.total).max(), most > 0 else { return nil }
        let columns = self.history.compactMap { self.column($0, most: most) }
        return .picture(
            class: "strip", "0 0 150 \(Self.height)", fit: "xMinYMid", label: "outcomes in the last five minutes",
            "\(.rect("grid", [0, Self.height - 1, 150, 1]))\(columns.joined())")
    }

    private func column(_ interval: RemoteReport.Interval, most: Int) -> HTML? {
        let age = Int(interval.age.components.seconds / RemoteReport.Interval.length.components.seconds)
        guard age < Self.columns else { return nil }
        // The latest column is at the right edge.
        let x = (Self.columns - 1 - age) * 5
        var rects: [HTML] = []
        var top = Self.height
        for (style, count) in interval.parts {
            // Every outcome stays visible, however large the others are.
            let height = min(top, max(3, count * Self.height / most))
            top -= height
            rects.append(.rect(style, [x, top, 4, height]))
        }
        return HTML("g", HTML("title", "\(interval.title)"), rects.joined())
    }
}

extension RemoteReport.Interval {
    fileprivate var total: Int { self.succeeded + self.failures.values.reduce(0, +) }

    /// The style classes with their counts, from the bottom.
    fileprivate var parts: [(style: String, count: Int)] {
        self.failures.inOrder.map { ("party-\($0.party.rawValue)", $0.count) }
            + (self.succeeded > 0 ? [("fine", self.succeeded)] : [])
    }

    /// `20 s ago: 3 ok, 2 failed (the server)`.
    fileprivate var title: String {
        let failures = self.failures.inOrder.map { "\($0.count) failed (\($0.party))" }
        let parts = (self.succeeded > 0 ? ["\(self.succeeded) ok"] : []) + failures
        return (self.age == .zero ? "now" : "\(self.age.shortText) ago") + ": " + parts.joined(separator: ", ")
    }
}

/// The last checks of a target or a probe, as columns.
///
/// The height is the latency. A failure has the full height and another colour.
struct LatencyStrip {
    /// One check.
    ///
    /// Without a latency the column has the full height. The style is `hit`, `miss` or `skip`, and the title is shown
    /// on hover.
    typealias Column = (time: WallTime, latency: Duration?, style: String, title: String)

    private static let limit = 40

    /// Oldest first.
    let columns: [Column]
    /// What the columns are, for screen readers, such as `checks`.
    let noun: String

    var html: HTML {
        let highest = max(1e-6, self.columns.compactMap { $0.latency?.inSeconds }.max() ?? 0)
        // The latest column is at the right edge.
        let first = max(0, Self.limit - self.columns.count)
        let rects = self.columns.enumerated().map { place, column in
            let height = column.latency.map { max(2, Int(($0.inSeconds / highest * 20).rounded())) } ?? 20
            return HTML.rect(
                column.style, [(first + place) * 4, 20 - height, 3, height],
                title: "\(column.time.clockTime) UTC: \(column.title)")
        }
        let picture = HTML.picture(
            class: "strip", "0 0 160 20", label: "the last \(self.columns.count) \(self.noun)", rects.joined())
        return "\(picture) \(HTML("span", class: "note", "\(self.columns.last?.title ?? "")"))"
    }
}
