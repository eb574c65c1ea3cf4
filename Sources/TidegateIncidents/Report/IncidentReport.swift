package import TidegateCore

/// A report of outages as one file that prints: the totals, the method, the bars, and each incident with its evidence.
package struct IncidentReport {
    /// The incidents with their evidence, the newest first.
    package var answer: IncidentAnswer
    package var start: WallTime
    package var end: WallTime
    /// The name of the host that measured.
    package var host: String
    package var version: String
    /// How much local time is ahead of UTC.
    package var offset: (WallTime) -> Duration

    /// A report from its parts.
    package init(
        _ answer: IncidentAnswer, from start: WallTime, to end: WallTime, host: String, version: String,
        offset: @escaping (WallTime) -> Duration
    ) {
        (self.answer, self.start, self.end) = (answer, start, end)
        (self.host, self.version, self.offset) = (host, version, offset)
    }

    private var profile: IncidentProfile { .init(self.answer, from: self.start, to: self.end, offset: self.offset) }

    /// A share in percent, rounded down: an outage never becomes 100 %.
    package static func percent(_ share: Double) -> String {
        let thousandths = Int(share * 100_000)
        return "\(thousandths / 1000).\(String(thousandths % 1000).padded(to: 3)) %"
    }

    /// The object of `report --json`: that of `incidents --json` with the evidence, days and hours.
    package var json: JSONValue {
        let profile = self.profile
        let days = profile.days.map { day -> JSONValue in
            let down = FaultParty.allCases.compactMap { party in
                day.down[party].map { JSONValue.Member(party.rawValue, .seconds($0)) }
            }
            return [
                "from": .string(day.start.description), "to": .string(day.end.description),
                "coverage": day.coverage.json, "downSeconds": .object(down),
            ]
        }
        return self.answer.json(from: self.start, to: self.end)
            .adding(.init("host", .string(self.host))).adding(.init("version", .string(self.version)))
            .adding(.init("days", .array(days)))
            .adding(.init("downSecondsByHour", .array(profile.hours.map { .seconds($0) })))
    }

    /// The file.
    package var html: String {
        let profile = self.profile
        let period = "\(self.local(self.start)) to \(self.local(self.end))"
        let content: [HTML?] = [
            HTML("h1", "\(self.title)"),
            HTML("p", class: "sum", "\(period). \(self.subject)"),
            self.totals, self.summary, HTML("h2", "Downtime by day"),
            profile.dayBars { String(self.local($0).prefix(10)) }, self.axis, profile.legend,
            HTML("h2", "Downtime by hour of the day"), profile.hourBars,
            HTML("p", class: "axis", "\(HTML("span", "0:00"))\(HTML("span", "12:00"))\(HTML("span", "24:00"))"),
            HTML("h2", "Method"), self.method, HTML("h2", "Outages and slow times"), self.incidents, self.plans,
            self.letter,
            HTML("footer", "Made by Tidegate \(self.version) on \(self.host)."),
        ]
        return Self.page(self.title, content.compactMap(\.self).joined())
    }

    /// For pages with the style of reports: nothing is loaded, and the one style sheet is allowed by its hash.
    package static let contentSecurityPolicy = [
        "default-src 'none'", "style-src 'sha256-fB0DB+iEBowaegOg6ouMG+yd8m8UyrWgBjTiMKcW0TQ='", "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ].joined(separator: "; ")

    /// A page of its own with the style of reports.
    package static func page(_ title: String, _ content: HTML) -> String {
        HTML.filled(
            String(decoding: PackageResources.report_html, as: UTF8.self),
            with: ["title": "\(title)", "content": content])
    }

    // MARK: Parts

    private var title: String { "Outages and slow times seen by \(self.host)" }

    // Local time, because the reader's own notes are in it; with the offset, because it changes twice a year.
    private func local(_ time: WallTime) -> String {
        let offset = self.offset(time)
        let text = (time + offset).description
        let minutes = abs(offset.components.seconds) / 60
        let digits = [minutes / 60, minutes % 60].map { String($0).padded(to: 2) }
        return
            "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) \(offset < .zero ? "-" : "+")\(digits.joined(separator: ":"))"
    }

    private var subject: String {
        let question = self.answer.question
        let subject = question.name ?? "The way out, the targets and the probes"
        return subject + (question.party.map { ", as far as the responsible party is \($0)." } ?? ".")
    }

    private var totals: HTML {
        let totals = self.answer.totals
        let rows = FaultParty.allCases.compactMap { party -> HTML? in
            guard let total = totals[party] else { return nil }
            return Self.row([
                HTML.party(party), "\(total.count)", "\(total.down.shortText)", "\(total.degraded.shortText)",
                "\(total.proven.shortText)",
                "\((total.down - total.proven).shortText)", "\(total.longest.shortText)",
            ])
        }
        guard !rows.isEmpty else { return HTML("p", class: "empty", "No outages and no slow times.") }
        return .table(
            class: nil, ["Responsible", "Incidents", "Down", "Slow", "Proven", "Probable", "Longest"], rows: rows)
    }

    private var summary: HTML {
        let coverage = self.answer.coverage(from: self.start, to: self.end)
        let subject = self.answer.question.name ?? "the way out"
        let facts: [(HTML, String?)] = [
            ("Availability of \(subject)", coverage.availability.map(Self.percent)),
            ("Without this host's own outages", coverage.availabilityForOthers.map(Self.percent)),
            ("Watched", coverage.watched.shortText), ("Down", coverage.down.shortText),
            ("Slow", coverage.degraded > .zero ? coverage.degraded.shortText : nil),
            ("Down for maintenance", coverage.planned > .zero ? coverage.planned.shortText : nil),
            ("Host suspended", coverage.suspended.shortText), ("Not watched", coverage.stopped.shortText),
            ("Networks", Set(self.answer.incidents.compactMap(\.network?.interface)).sorted().joined(separator: ", ")),
        ]
        let items = facts.compactMap { name, text in
            text.flatMap { $0.isEmpty ? nil : HTML("div", HTML("dt", name), HTML("dd", "\($0)")) }
        }
        let gap: HTML? = self.answer.firstWatched.flatMap { first in
            guard self.start < first else { return nil }
            return HTML("p", "The first record is of \(self.local(first)); nothing is known of the time before.")
        }
        return "\(gap)\(HTML("dl", items.joined()))"
    }

    private var axis: HTML {
        let ends = [self.start, self.end].map { HTML("span", "\(self.local($0).prefix(10))") }
        return HTML("p", class: "axis", ends.joined())
    }

    private var method: HTML {
        let items: [HTML] = [
            """
            The way out is down while Tidegate's diagnosis of this host is decided and says so. It asks the kernel, the \
            gateway, the resolvers and addresses beyond them.
            """,
            """
            A target or probe is down while its own checks fail. Targets that fail for the cause of an outage of the way \
            out belong to that outage.
            """,
            """
            An outage begins with the first packet that got no answer, and ends with the first success. Three outages \
            within five minutes are one intermittent outage; only the time down counts.
            """,
            """
            The way out or a target is slow while it works, and measurements find where packets are lost or late. Slow \
            time counts as up.
            """,
            """
            Proven: the responsible party answered, or the kernel of this host reports it. Probable: silence is the \
            only evidence.
            """,
            """
            Availability is the share of watched time that was not down. Time in which this host was suspended or \
            Tidegate did not run counts neither as up nor as down.
            """,
            self.answer.question.countsPlanned
                ? "Maintenance counts as any other outage."
                : "Maintenance that was planned is left out of availability.",
            """
            The report documents outages and slow times. It is not a certified measurement of speed, and makes no legal \
            claim.
            """,
        ]
        return HTML("ul", items.map { HTML("li", $0) }.joined())
    }

    private var incidents: HTML {
        let rows = self.answer.incidents.map { incident -> HTML in
            let details = IncidentDetails(of: incident, at: self.end, time: self.local).rows
            let shown: Set = ["start", "down", "slow", "what"]
            let facts = details.filter { !shown.contains($0.name) }.map { name, text in
                HTML("div", HTML("dt", "\(name)"), HTML("dd", "\(text)"))
            }
            return Self.row([
                HTML("b", "\(self.local(incident.start))"), "\(incident.downtime(at: self.end).shortText)",
                "\(incident.subject)\(HTML("dl", facts.joined()))",
            ])
        }
        guard !rows.isEmpty else { return HTML("p", class: "empty", "None.") }
        return .table(class: "incidents", ["Start", "Time", "What"], rows: rows)
    }

    private static func row(_ cells: [HTML]) -> HTML { HTML("tr", cells.map { HTML("td", $0) }.joined()) }

    private var plans: HTML? {
        let rows = self.answer.plans.map { plan in
            Self.row(["\(self.local(plan.start))", "\(self.local(plan.end))", "\(plan.text)"])
        }
        guard !rows.isEmpty else { return nil }
        return "\(HTML("h2", "Planned maintenance"))\(HTML.table(class: nil, ["From", "To", "What"], rows: rows))"
    }

    // MARK: The letter

    /// A letter to the party asked for, or to the provider.
    private var letter: HTML? {
        let party = self.answer.question.party ?? .upstream
        guard let total = self.answer.totals[party], [.upstream, .theirs, .resolver].contains(party) else { return nil }
        let counts = self.answer.question.countsPlanned
        let own = self.answer.incidents.filter { $0.finding.party == party && (counts || !$0.note.isPlanned) }
        let references = own.compactMap { incident in
            incident.note.reported.map { time in
                "\(self.local(time))\(incident.note.reference.map { ", reference \($0)" } ?? "")"
            }
        }
        let list = own.prefix(20).map { incident in
            HTML(
                "li",
                "\(self.local(incident.start)): \(incident.downtime(at: self.end).shortText), \(incident.finding.certainty.rawValue): \(incident.finding.cause)"
            )
        }
        let times = [(total.down, "down"), (total.degraded, "slow")].compactMap { time, state in
            time > .zero ? "\(state) for \(time.shortText)" : nil
        }
        let proof =
            total.down == .zero
            ? ""
            : " \(total.proven.shortText) of the time down is proven by answers of your own equipment; "
                + "for the rest of it, silence is the evidence."
        let noun = total.count == 1 ? "incident" : "incidents"
        let count = "\(total.count) \(noun), in total \(times.joined(separator: " and "))"
        let paragraphs: [HTML?] = [
            HTML("p", "To whom it may concern,"),
            HTML(
                "p",
                """
                between \(self.local(self.start)) and \(self.local(self.end)) we recorded \(count). Our measurements \
                point to \(party == .upstream ? "your network" : "your service"). The longest one lasted \
                \(total.longest.shortText).\(proof)
                """),
            HTML("ul", list.joined()),
            own.count > 20 ? HTML("p", "The report lists \(own.count - 20) more.") : nil,
            references.isEmpty ? nil : HTML("p", "We reported faults on \(references.joined(separator: "; "))."),
            HTML("p", "Please tell us the cause, and what you have done about it. The measurements are enclosed."),
        ]
        return HTML("section", class: "letter", HTML("h2", "Covering letter"), paragraphs.compactMap(\.self).joined())
    }
}
