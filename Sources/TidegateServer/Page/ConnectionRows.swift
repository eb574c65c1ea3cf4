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
            return .text(report.shortestRoundTrip?.roundTripText)
        }
        return .html((report.shortestRoundTrip?.roundTripText ?? "") + "<div class=\"note\">\(share) sent again</div>")
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
