internal import TidegateCore
internal import TidegateIncidents

/// The outages and slow times of the last 90 days on the page: bars, then those that last and the newest others.
struct IncidentSection {
    let answer: IncidentAnswer
    let start: WallTime
    let now: WallTime
    let choice: PageChoice

    /// As many have a row.
    static let limit = 10

    var html: HTML {
        let profile = IncidentProfile(self.answer, from: self.start, to: self.now) { _ in .zero }
        let ends = [self.start, self.now].map { HTML("span", "\($0.description.prefix(10))") }
        return """
            \(profile.dayBars())\(HTML("p", class: "axis", ends.joined()))\(profile.legend)\
            \(RowTable("incidents", ["Start", "Time", "What", "Cause and party"], first: self.rows, none: self.none).html)
            """
    }

    /// The availability, and the time that it is a share of.
    var summary: HTML {
        let coverage = self.answer.coverage(from: self.start, to: self.now)
        let share = coverage.availability.map { "available \(IncidentReport.percent($0)), " } ?? ""
        let slow = coverage.degraded > .zero ? ", \(coverage.degraded.shortText) slow" : ""
        return "\(share)\(coverage.watched.shortText) watched in 90 days\(slow)"
    }

    private var none: HTML { self.choice.party.map { "None: \($0)." } ?? "None." }

    private var rows: [[HTML]] {
        let wanted = self.answer.incidents.filter { (self.choice.party ?? $0.finding.party) == $0.finding.party }
        let open = wanted.filter { $0.end == nil }
        return (open + wanted.filter { $0.end != nil }).prefix(max(Self.limit, open.count)).map { incident in
            let time = incident.downtime(at: self.now).shortText
            return [
                HTML("a", with: ["href": "/incidents/\(incident.id)"], .time(incident.start, hasDay: true)),
                incident.end == nil ? .bad("\(time), ongoing") : "\(time)", "\(Self.text(of: incident))",
                .failure("\(incident.finding.cause)", of: incident.finding.party),
            ]
        }
    }

    private static func text(of incident: Incident) -> String {
        let affected = incident.targets.count + incident.probes.count
        let parts = [
            incident.kind == .down ? nil : incident.kind.rawValue,
            affected == 0 ? nil : "\(affected) affected", incident.note.isPlanned ? "maintenance" : nil,
        ]
        return ([incident.subject] + parts.compactMap(\.self)).joined(separator: ", ")
    }

    /// The page of one incident.
    static func page(of incident: Incident, at now: WallTime) -> String {
        let rows = IncidentDetails(of: incident, at: now).rows.map { name, text in
            HTML("div", HTML("dt", "\(name)"), HTML("dd", "\(text)"))
        }
        let links: [(String, HTML)] = [
            ("/", "Status"), ("/#incidents", "All incidents"), ("/#targets", "Targets"),
            ("/?party=\(incident.finding.party.rawValue)#news", "Events of this party"),
        ]
        let title: HTML = "\(incident.subject): \(incident.finding.cause)"
        let content: [HTML] = [
            HTML("h1", title), HTML("dl", class: "details", rows.joined()),
            HTML("p", links.map { HTML("a", with: ["href": $0], $1) }.joined(separator: " · ")),
        ]
        return IncidentReport.page("\(incident.subject)", content.joined())
    }
}
