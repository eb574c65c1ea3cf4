internal import TidegateCore
internal import TidegateIncidents

/// The status page: the monitor's state at one moment, complete even without the script.
struct PageView {
    let status: ReachabilityStatus
    /// The latest measurement of the ladder.
    let diagnosis: HostDiagnosis?
    let tasks: TaskSample
    let record: HistoryRecord
    /// When scheduled tasks run next, by name.
    let nextRuns: [String: WallTime]
    let choice: PageChoice
    let now: WallTime
    let configuration: EndpointConfiguration
    /// The latest probes of `/probe`, newest first; nil without modules.
    var probes: [ProbeReport]?
    /// The results of scheduled probes, in the order of the configuration.
    var scheduledProbes: [ScheduledProbeReport] = []
    /// What is known of other programs' connections; nil if they are not observed.
    var connections: ConnectionsReport?
    /// The outages of the last 90 days; nil if they are not recorded.
    var incidents: IncidentAnswer?

    /// Nothing is loaded; the only style sheet and the only script are allowed by their hashes.
    ///
    /// After changing `page.html`, insert the digests that PageTests computes here.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'sha256-6qQsNFPgqEBzo83xRIimQMtWO3Pj0ytZDlubF2ryA24='",
        "style-src 'sha256-7jgYzucphqwLkGl+hrKCm61jjEcgCCJ3zSrviHhF4B4='", "connect-src 'self'", "img-src data:",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    var html: String {
        let headline = self.headline
        let state = headline.state
        let ladder = LadderView(status: self.status, diagnosis: self.diagnosis)
        let tasks = TaskRows(
            tasks: self.tasks, results: self.record.results, nextRuns: self.nextRuns,
            redaction: self.configuration.redaction, now: self.now)
        let (connections, targets) = (self.connectionSection, self.targetRows)
        let failing = targets.count(where: \.isFailing)
        let (scheduled, latest) = (self.scheduledProbeSection, self.probeSection)
        let ladderSection = self.section("way", "The ladder", ladder.note(at: self.now), ladder.html)
        let timeline = TimelineSVG(
            record: self.record, now: self.now, current: self.status.level, span: self.choice.span)
        let values: [String: HTML?] = [
            "tone": "\(state.tone.rawValue)", "headline": headline.html, "title": "\(state.sentence)",
            "facts": self.facts(beside: state), "icon": "\(state.tone.iconColour)",
            // What is wrong comes before what suffers from it.
            "brokenLadder": ladder.isBroken ? ladderSection : nil, "ladder": ladder.isBroken ? nil : ladderSection,
            "targets": RowTable(
                section: "targets", heads: TargetRow.heads, rows: targets.map(\.row), none: "No targets are configured."
            ).html,
            "failingTargets": failing == 0 ? nil : "\(failing) of \(targets.count) not reached",
            "quality": self.qualitySection, "incidents": self.incidentSection,
            "incidentsLink": self.incidents.map { _ in self.link("incidents", "Outages and slow times") },
            "links": self.linkTable, "scheduledProbes": scheduled, "tasks": tasks.html, "connections": connections,
            "probesLink": scheduled.map { _ in self.link("probes", "Probes") }
                ?? latest.map { _ in self.link("latest", "Probes") },
            "connectionsLink": connections.map { _ in self.link("connections", "Other apps") },
            "summary": "\(tasks.summary)", "latestProbes": latest, "timeline": timeline.html,
            "spans": self.spanLinks,
            "events": self.eventList,
            "running": "\(self.tasks.counts[.running] ?? 0)", "busy": self.isBusy ? nil : " hidden",
            "now": "\(self.now)", "clock": "\(self.now.dateAndTime)",
            "version": "\(self.configuration.version)", "telemetry": "\(self.configuration.telemetryPath)",
        ]
        return HTML.filled(String(decoding: PackageResources.page_html, as: UTF8.self), with: values)
    }

    /// True if a running task was started at least a second ago; then an activity indicator is shown.
    private var isBusy: Bool {
        self.tasks.tasks.contains { task in
            guard task.state.name == .running, let started = task.started else { return false }
            return !(self.now < started + .seconds(1))
        }
    }

    /// The first line.
    var headline: Headline {
        Headline(
            status: self.status, diagnosis: self.diagnosis, tasks: self.tasks, record: self.record,
            targets: self.targetRows, now: self.now)
    }

    private func facts(beside headline: Headline.State) -> HTML {
        // Shown only once: the first line may already say it.
        let isSaid = self.status.since == headline.since
        let since: HTML? = isSaid ? nil : self.status.since.map { " since \(.time($0)) (\(.ago($0, at: self.now)))" }
        let notes = Set(self.status.families.flatMap(\.verdict.notes)).map(\.description).sorted()
        let facts: [(name: HTML, value: HTML?)] = [
            ("Level", "\(.level(self.status.level))\(since)"),
            ("Way out", self.status.global.path.map { "\($0.description)" }),
            ("Ways out", self.status.uplinks.isEmpty ? nil : self.uplinks),
            ("Note", notes.isEmpty ? nil : "\(notes.joined(separator: ", "))"),
            ("Updated by", "\(self.status.mode.description)"),
            ("Kernel", self.status.health.isConsistent ? nil : "resynchronizing"),
        ]
        return facts.compactMap { name, value in
            value.map { HTML("div", HTML("dt", name), HTML("dd", $0)) }
        }.joined()
    }

    private var uplinks: HTML {
        self.status.uplinks.map { uplink in
            let text = "\(uplink.interface) (\(uplink.role.rawValue)): \(uplink.shortSentence)"
            return HTML("span", class: "line", uplink.isBroken ? .bad(text) : "\(text)")
        }.joined()
    }

    // MARK: Tables

    private var targetRows: [TargetRow] {
        self.status.targets.map { entry in
            TargetRow(
                verdict: entry, configuredName: self.configuration.targetNames[entry.target],
                report: self.status.checks[entry.target], marks: self.record.checks[entry.target] ?? [],
                links: self.status.links, brokenSince: self.brokenSince, now: self.now,
                incident: self.configuration.targetNames[entry.target].flatMap { name in
                    self.incidents?.incidents.first { $0.end == nil && $0.affects(name) }?.id
                }, trouble: self.status.quality?.targets[entry.target])
        }
    }

    private var brokenSince: WallTime? {
        guard let diagnosis = self.diagnosis, diagnosis.isBroken else { return nil }
        return diagnosis.since ?? diagnosis.time
    }

    // A part of the hour stands for 90 seconds.
    private var qualitySection: HTML? {
        guard let quality = self.status.quality, !quality.hosts.isEmpty else { return nil }
        let rows = quality.hosts.map { host -> [HTML] in
            let columns = host.parts(of: 9).map { part -> LatencyStrip.Column in
                let texts = [part.median?.shortText, part.lost > 0 ? "\(part.lost) of 9 lost" : nil]
                return (
                    part.time, part.median, part.lost > 0 ? "miss" : "hit",
                    texts.compactMap(\.self).joined(separator: ", ")
                )
            }
            return [
                .name("\(host.segment)", "\(host.address)"), .text(host.roundTrip?.shortText),
                .text(host.normal?.shortText), "\(host.lost) of \(host.echoes.count) echoes",
                columns.isEmpty ? .dash : LatencyStrip(columns: columns, noun: "parts of an hour").html,
            ]
        }
        let table = RowTable("quality", ["Host", "Now", "Usual", "Lost", "Last hour"], first: rows)
        return self.section("quality", "Quality", quality.network.map { _ in "slow" } ?? "", table.html)
    }

    private var incidentSection: HTML? {
        self.incidents.map { answer in
            let incidents = IncidentSection(
                answer: answer, start: answer.question.since ?? self.now, now: self.now, choice: self.choice)
            return self.section("incidents", "Outages and slow times", incidents.summary, incidents.html)
        }
    }

    // Omitted while observation is switched off, but not if the kernel refused it.
    private var connectionSection: HTML? {
        guard let report = self.connections, report.mode != .off || report.reason != nil else { return nil }
        let rows = ConnectionRows(report: report)
        let table = RowTable("connections", ConnectionRows.heads, first: rows.cells, none: rows.none)
        return self.section(
            "connections", "Other apps’ connections", "\(rows.summary)", "\(rows.caveat)\(table.html)\(rows.rest)")
    }

    private var probeSection: HTML? {
        guard let probes = self.probes else { return nil }
        let rows = ProbeRows(reports: probes, redaction: self.configuration.redaction, now: self.now)
        let table = RowTable("latest", ProbeRows.heads, first: rows.cells)
        return self.section("latest", "Latest probes", "\(rows.summary)", table.html)
    }

    // Not there without probes: most hosts have none.
    private var scheduledProbeSection: HTML? {
        guard !self.scheduledProbes.isEmpty else { return nil }
        let rows = self.scheduledProbes.map {
            ScheduledProbeRow(report: $0, redaction: self.configuration.redaction, now: self.now)
        }
        let failing = rows.count(where: \.isFailing)
        let table = RowTable(section: "probes", heads: ScheduledProbeRow.heads, rows: rows.map(\.row))
        return self.section(
            "probes", "Scheduled probes", failing == 0 ? "" : "\(failing) of \(rows.count) fail", table.html)
    }

    private var spanLinks: HTML {
        TimelineSVG.Span.allCases.map { span in
            PageChoice(party: self.choice.party, span: span)
                .link("\(span.rawValue)", section: "time", isCurrent: span == self.choice.span)
        }.joined()
    }

    private func section(_ id: String, _ title: String, _ summary: HTML, _ content: HTML) -> HTML {
        let heading = HTML("h2", with: ["id": "\(id)-title"], "\(title) \(HTML("small", summary))")
        let section = HTML(
            "section", with: ["id": id, "data-part": "", "aria-labelledby": "\(id)-title"], heading, content)
        return "\(section)\n"
    }

    private func link(_ section: String, _ text: HTML) -> HTML {
        "\(HTML("a", with: ["href": "#\(section)"], text)) "
    }

    private var linkTable: HTML {
        let rows = self.status.links.map { link -> [HTML] in
            let state = link.isUsable ? HTML.good("usable") : link.kind == .loopback ? "this host" : nil
            let addresses = link.addresses.map { HTML("span", class: "line", "\($0)") }
            return [
                .name(link.name, nil), "\(link.kind.word)",
                state ?? .bad(link.reason?.description(ofLink: link.name) ?? "no"),
                "\(link.isAdminUp ? "up" : "down"), \(link.hasCarrier ? "carrier" : "no carrier")",
                addresses.isEmpty ? .dash : addresses.joined(),
            ]
        }
        return RowTable("links", ["Interface", "Type", "State", "Kernel", "Addresses"], first: rows).html
    }

    private var eventList: HTML {
        let names = self.tasks.tasks.map { ($0.id.description, $0.label(self.configuration.redaction)) }
        return EventList(
            groups: EventGroup.all(of: self.record), choice: self.choice,
            taskNames: Dictionary(names) { first, _ in first }, incidents: self.incidents?.incidents ?? [],
            now: self.now
        ).html
    }
}

extension EventLine.Tone {
    // A style sheet does not apply to an icon.
    fileprivate var iconColour: String {
        switch self {
        case .good: "15803d"
        case .bad: "d92d2d"
        case .wait: "b87a00"
        case .plain: "748496"
        }
    }
}

/// What a reader of the page has chosen to see; its links need no script.
struct PageChoice: Hashable {
    /// The party whose events are shown; nil for all.
    var party: FaultParty?
    var span = TimelineSVG.Span.hour

    /// A link to this choice in a section, which is the current one or not.
    func link(_ text: HTML, section: String, isCurrent: Bool) -> HTML {
        let values = [
            self.party.map { "party=\($0.rawValue)" }, self.span == .hour ? nil : "span=\(self.span.rawValue)",
        ].compactMap(\.self)
        let query = values.isEmpty ? "" : "?\(values.joined(separator: "&"))"
        return HTML("a", with: ["href": "/\(query)#\(section)", "aria-current": isCurrent ? "true" : nil], text)
    }
}

extension PageChoice {
    /// The choice of a request's target; what is unknown in it is left out.
    init(target: String) {
        let query = QueryParameters(target: target)
        self.init(
            party: query.values(of: "party").first.flatMap(FaultParty.init(rawValue:)),
            span: query.values(of: "span").first.flatMap(TimelineSVG.Span.init(rawValue:)) ?? .hour)
    }
}
