internal import TidegateCore

/// The status page: the monitor's state at one moment, complete even without the script.
struct PageView {
    let status: ReachabilityStatus
    /// The latest measurement of the ladder.
    let diagnosis: HostDiagnosis?
    let tasks: TaskSample
    let record: HistoryRecord
    /// When scheduled tasks run next, by name.
    let nextRuns: [String: WallTime]
    /// The party whose events are shown; nil for all.
    let party: FaultParty?
    let now: WallTime
    let configuration: EndpointConfiguration
    /// The latest probes of `/probe`, newest first; nil without modules.
    var probes: [ProbeReport]?
    /// The results of scheduled probes, in the order of the configuration.
    var scheduledProbes: [ScheduledProbeReport] = []
    /// What is known of other programs' connections; nil if they are not observed.
    var connections: ConnectionsReport?

    /// Nothing is loaded; the only style sheet and the only script are allowed by their hashes.
    ///
    /// After changing `page.html`, insert the digests that PageTests computes here.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'sha256-ogKSbTgxrzur+dY+IjB5vr60ovqLuu3sHtzcZ2MIGuU='",
        "style-src 'sha256-UPq7sfKdDKFlobkeI8dC7xM7wnBtQRIzI0xt3LULNlg='", "connect-src 'self'", "img-src data:",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    var html: String {
        let headline = self.headline
        let state = headline.state
        let ladder = LadderView(status: self.status, diagnosis: self.diagnosis)
        let tasks = TaskRows(
            tasks: self.tasks, results: self.record.results, nextRuns: self.nextRuns,
            redaction: self.configuration.redaction, now: self.now)
        let connections = self.connectionSection
        let connectionsLink = HTML("a", with: ["href": "#connections"], "Other apps")
        let timeline = TimelineSVG(record: self.record, now: self.now, current: self.status.level)
        let values: [String: HTML?] = [
            "tone": "\(state.tone.rawValue)", "headline": headline.html, "title": "\(state.sentence)",
            "facts": self.facts(beside: state), "icon": "\(state.tone.iconColour)",
            "ladder": ladder.html, "measured": ladder.note(at: self.now),
            "targets": .table(TargetRow.heads, self.targetRows.map(\.cells), none: "No targets are configured."),
            "links": self.linkTable, "scheduledProbes": self.scheduledProbeTable,
            "tasks": tasks.html, "connections": connections,
            "connectionsLink": connections == nil ? nil : "\(connectionsLink) ",
            "summary": "\(tasks.summary)", "probes": self.probeSection, "timeline": timeline.html,
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
            ("Note", notes.isEmpty ? nil : "\(notes.joined(separator: ", "))"),
            ("Updated by", "\(self.status.mode.description)"),
            ("Kernel", self.status.health.isConsistent ? nil : "resynchronizing"),
        ]
        return facts.compactMap { name, value in
            value.map { HTML("div", HTML("dt", name), HTML("dd", $0)) }
        }.joined()
    }

    // MARK: Tables

    private var targetRows: [TargetRow] {
        self.status.targets.map { entry in
            TargetRow(
                verdict: entry, configuredName: self.configuration.targetNames[entry.target],
                report: self.status.checks[entry.target], marks: self.record.checks[entry.target] ?? [],
                links: self.status.links, brokenSince: self.brokenSince, now: self.now)
        }
    }

    private var brokenSince: WallTime? {
        guard let diagnosis = self.diagnosis, diagnosis.isBroken else { return nil }
        return diagnosis.since ?? diagnosis.time
    }

    // Omitted while observation is switched off, but not if the kernel refused it.
    private var connectionSection: HTML? {
        guard let report = self.connections, report.mode != .off || report.reason != nil else { return nil }
        let rows = ConnectionRows(report: report)
        let table = HTML.table(ConnectionRows.heads, rows.cells, none: rows.none)
        return self.section(
            "connections", "Other apps’ connections", rows.summary, "\(rows.caveat)\(table)\(rows.rest)")
    }

    private var probeSection: HTML? {
        guard let probes = self.probes else { return nil }
        let rows = ProbeRows(reports: probes, redaction: self.configuration.redaction, now: self.now)
        return self.section("probes", "Latest probes", rows.summary, .table(ProbeRows.heads, rows.cells))
    }

    private func section(_ id: String, _ title: String, _ summary: String, _ content: HTML) -> HTML {
        let heading = HTML("h2", with: ["id": "\(id)-title"], "\(title) \(HTML("small", "\(summary)"))")
        let section = HTML(
            "section", with: ["id": id, "data-part": "", "aria-labelledby": "\(id)-title"], heading, content)
        return "\(section)\n"
    }

    // Omitted without scheduled probes, because most hosts have none.
    private var scheduledProbeTable: HTML? {
        guard !self.scheduledProbes.isEmpty else { return nil }
        let rows = self.scheduledProbes.map {
            ScheduledProbeRow(report: $0, redaction: self.configuration.redaction, now: self.now).cells
        }
        return "\(HTML("h2", "Scheduled probes"))\(.table(ScheduledProbeRow.heads, rows))"
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
        return .table(["Interface", "Type", "State", "Kernel", "Addresses"], rows)
    }

    private var eventList: HTML {
        let names = self.tasks.tasks.map { ($0.id.description, $0.label(self.configuration.redaction)) }
        return EventList(
            groups: EventGroup.all(of: self.record), party: self.party,
            taskNames: Dictionary(names) { first, _ in first }, now: self.now
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
