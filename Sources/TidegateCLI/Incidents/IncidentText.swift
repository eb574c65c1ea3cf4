internal import Tidegate
internal import TidegateIncidents

/// Incidents for people, and as comma-separated values.
enum IncidentText {
    /// The list, then its totals.
    static func lines(_ read: IncidentRead, _ style: TextStyle) -> [String] {
        var table = Table(head: ["id", "start", "time", "what", "party", "cause"])
        // The first 13 characters are the time in milliseconds.
        let short = TaskReference.shortIDs(of: read.answer.ids, atLeast: 13)
        for incident in read.answer.incidents {
            let isOpen = incident.end == nil
            // The id of one that began before may begin like one that was not read.
            let id = incident.start < read.from ? incident.id : short[incident.id] ?? incident.id
            table.add(
                .init(id, .faint), .init(incident.start.dateAndTime),
                .init(incident.downtime(at: read.to).shortText + (isOpen ? ", ongoing" : ""), isOpen ? .bad : nil),
                .init(incident.subject), .init("\(incident.finding.party)"), .init(incident.finding.cause))
        }
        let list = read.answer.incidents.isEmpty ? ["No outages and no slow times."] : table.lines(style)
        return (list + [""] + self.totals(read.answer, style) + self.coverage(read))
            .map(TextStyle.escapingControls)
    }

    private static func totals(_ answer: IncidentAnswer, _ style: TextStyle) -> [String] {
        let totals = answer.totals
        guard !totals.isEmpty else { return [] }
        var table = Table(head: ["party", "incidents", "down", "slow", "proven", "longest"])
        for party in FaultParty.allCases {
            guard let total = totals[party] else { continue }
            table.add(
                .init("\(party)"), .init("\(total.count)"), .init(total.down.shortText),
                .init(total.degraded.shortText), .init(total.proven.shortText), .init(total.longest.shortText))
        }
        return table.lines(style) + [""]
    }

    private static func coverage(_ read: IncidentRead) -> [String] {
        let coverage = read.answer.coverage(from: read.from, to: read.to)
        let times = [
            ("watched", coverage.watched), ("slow", coverage.degraded), ("down for maintenance", coverage.planned),
            ("suspended", coverage.suspended), ("not watched", coverage.stopped),
        ].compactMap { word, time in time >= .seconds(1) || word == "watched" ? "\(time.shortText) \(word)" : nil }
        var shares = coverage.availability.map { ["Available \(IncidentReport.percent($0))"] } ?? []
        if coverage.down != coverage.downForOthers, let share = coverage.availabilityForOthers {
            shares.append("\(IncidentReport.percent(share)) without this host's own outages")
        }
        let start = read.answer.firstWatched.flatMap { first in
            first > read.from ? "Tidegate has recorded since \(first.dateAndTime)." : nil
        }
        return [(shares + times).joined(separator: ", ") + "."] + [start].compactMap(\.self)
    }

    /// One incident with its evidence.
    static func details(_ incident: Incident, at now: WallTime, _ style: TextStyle) -> [String] {
        var table = Table()
        for (name, text) in IncidentDetails(of: incident, at: now).rows {
            table.add(.init(name, .faint), .init(text))
        }
        return table.lines(style).map(TextStyle.escapingControls)
    }

    /// Planned maintenance.
    static func plans(_ plans: [Coverage.Span], _ style: TextStyle) -> [String] {
        guard !plans.isEmpty else { return ["Nothing is planned."] }
        var table = Table(head: ["id", "from", "to", "text"])
        for plan in plans {
            table.add(
                .init(plan.id, .faint), .init(plan.start.dateAndTime), .init(plan.end.dateAndTime), .init(plan.text))
        }
        return table.lines(style).map(TextStyle.escapingControls)
    }

    /// A line for each incident, behind the names of the columns (RFC 4180); for ``Terminal/print(_:terminator:)``.
    static func csv(_ document: JSONValue) -> String {
        let columns = [
            "id", "kind", "scope", "target", "party", "cause", "certainty", "start", "end", "durationSeconds",
            "downSeconds", "endReason", "drops", "continues", "note", "reference", "reportedAt", "planned",
        ]
        let rows = (document["incidents"]?.elements ?? []).map { incident in
            columns.map { self.field(incident[$0] ?? .null) }.joined(separator: ",")
        }
        return ([columns.joined(separator: ",")] + rows).map { $0 + "\r\n" }.joined()
    }

    // A spreadsheet takes a text that begins so for a formula.
    private static func field(_ value: JSONValue) -> String {
        guard case .string(let string) = value else { return value == .null ? "" : value.description }
        var scalars = String.UnicodeScalarView()
        for scalar in string.unicodeScalars {
            if "\t\r\n".unicodeScalars.contains(scalar) {
                scalars.append(scalar)
            } else {
                scalars.append(escapingControl: scalar)
            }
        }
        var text = String(scalars)
        if let first = text.utf8.first, "=+-@\t\r".utf8.contains(first) { text = "'" + text }
        guard text.utf8.contains(where: { ",\"\n\r".utf8.contains($0) }) else { return text }
        return "\"\(text.replacing("\"", with: "\"\""))\""
    }
}
