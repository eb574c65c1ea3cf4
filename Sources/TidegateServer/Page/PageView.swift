internal import TidegateCore

/// The status page: the state of the monitor at one moment, correct without the script.
struct PageView {
    let status: ReachabilityStatus
    /// The latest measurement of the ladder.
    let diagnosis: HostDiagnosis?
    let tasks: TaskSample
    let record: HistoryRecord
    /// When scheduled tasks run next, by their names.
    let nextRuns: [String: WallTime]
    /// The party whose events are shown; nil for all.
    let party: FaultParty?
    let now: WallTime
    let configuration: EndpointConfiguration
    /// The latest probes of `/probe`, the newest first; nil without modules.
    var probes: [ProbeReport]?
    /// What scheduled probes have found, in the order of the configuration.
    var scheduledProbes: [ScheduledProbeReport] = []
    /// What is known of the connections of other programs; nil if they are not observed.
    var connections: ConnectionsReport?

    /// Nothing is loaded; the one style sheet and the one script are allowed by their hashes.
    ///
    /// After a change of `page.html`, put the digests that PageTests computes here.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'sha256-ogKSbTgxrzur+dY+IjB5vr60ovqLuu3sHtzcZ2MIGuU='",
        "style-src 'sha256-UPq7sfKdDKFlobkeI8dC7xM7wnBtQRIzI0xt3LULNlg='", "connect-src 'self'", "img-src data:",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    var html: String {
        let headline = self.headline
        let ladder = LadderView(status: self.status, diagnosis: self.diagnosis)
        let tasks = TaskRows(
            tasks: self.tasks, results: self.record.results, nextRuns: self.nextRuns,
            redaction: self.configuration.redaction, now: self.now)
        let connections = self.connectionSection
        let timeline = TimelineSVG(record: self.record, now: self.now, current: self.status.level)
        let values = [
            "tone": headline.tone.rawValue, "headline": headline.html, "title": HTML.escaped(headline.text),
            "facts": self.facts(beside: headline), "icon": headline.tone.iconColour,
            "ladder": ladder.html, "measured": ladder.note(at: self.now),
            "links": self.linkTable, "targets": self.targetTable, "scheduledProbes": self.scheduledProbeTable,
            "tasks": tasks.html, "connections": connections,
            "connectionsLink": connections.isEmpty ? "" : "<a href=\"#connections\">Other apps</a> ",
            "summary": HTML.escaped(tasks.summary), "probes": self.probeSection, "timeline": timeline.html,
            "events": self.eventList,
            "running": "\(self.tasks.counts[.running] ?? 0)", "busy": self.isBusy ? "" : " hidden",
            "now": self.now.description, "clock": self.now.dateAndTime,
            "version": HTML.escaped(self.configuration.version),
            "telemetry": HTML.escaped(self.configuration.telemetryPath),
        ]
        return HTML.filled(String(decoding: PackageResources.page_html, as: UTF8.self), with: values)
    }

    /// Whether a task that runs was started a second ago, as an activity indicator is shown.
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

    private func facts(beside headline: Headline) -> String {
        let level = Cell.level(self.status.level).html
        // Once: the first line may have said it.
        let since = self.status.since.flatMap { $0 == headline.since ? nil : $0 }.map {
            " since \(HTML.time($0)) (\(HTML.ago($0, at: self.now)))"
        }
        var facts = [(name: "Level", html: level + (since ?? ""))]
        if let path = self.status.global.path { facts.append(("Way out", HTML.escaped(path.description))) }
        let notes = Set(self.status.families.flatMap(\.verdict.notes)).map(\.description).sorted()
        if !notes.isEmpty { facts.append(("Note", HTML.escaped(notes.joined(separator: ", ")))) }
        facts.append(("Updated by", HTML.escaped(self.status.mode.description)))
        if !self.status.health.isConsistent { facts.append(("Kernel", "the tables are being read again")) }
        return facts.map { "<div><dt>\($0.name)</dt><dd>\($0.html)</dd></div>" }.joined()
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

    private var targetTable: String {
        guard !self.status.targets.isEmpty else { return "<p class=\"empty\">No targets are configured.</p>" }
        return self.table(TargetRow.heads, self.targetRows.map(\.cells))
    }

    // Not there where nothing is observed and nobody wanted that.
    private var connectionSection: String {
        guard let report = self.connections, report.mode != .off || report.reason != nil else { return "" }
        let rows = ConnectionRows(report: report)
        let table = rows.cells.isEmpty ? rows.none : self.table(ConnectionRows.heads, rows.cells)
        return """
            <section id="connections" data-part aria-labelledby="connections-title"><h2 id="connections-title">Other \
            apps’ connections <small>\(rows.summary)</small></h2>\(rows.caveat)\(table)\(rows.rest)</section>

            """
    }

    private var probeSection: String {
        guard let probes = self.probes else { return "" }
        let rows = ProbeRows(reports: probes, redaction: self.configuration.redaction, now: self.now)
        return """
            <section id="probes" data-part aria-labelledby="probes-title"><h2 id="probes-title">Latest probes \
            <small>\(rows.summary)</small></h2>\(self.table(ProbeRows.heads, rows.cells))</section>

            """
    }

    // Not there without probes: most hosts have none.
    private var scheduledProbeTable: String {
        guard !self.scheduledProbes.isEmpty else { return "" }
        let rows = self.scheduledProbes.map {
            ScheduledProbeRow(report: $0, redaction: self.configuration.redaction, now: self.now).cells
        }
        return "<h2>Scheduled probes</h2>" + self.table(ScheduledProbeRow.heads, rows)
    }

    private var linkTable: String {
        let rows = self.status.links.map { link -> [Cell] in
            let state = link.isUsable ? Cell.good("usable") : link.kind == .loopback ? .text("this host") : nil
            let addresses = link.addresses.map { "<span class=\"line\">\(HTML.escaped($0.description))</span>" }
            return [
                .html("<b>\(HTML.escaped(link.name))</b>"), .text(link.kind.word),
                state ?? .bad(link.reason?.description(ofLink: link.name) ?? "no"),
                .text("\(link.isAdminUp ? "up" : "down"), \(link.hasCarrier ? "carrier" : "no carrier")"),
                addresses.isEmpty ? .text(nil) : .html(addresses.joined()),
            ]
        }
        return self.table(["Interface", "Type", "State", "Kernel", "Addresses"], rows)
    }

    private func table(_ heads: [String], _ rows: [[Cell]]) -> String {
        guard !rows.isEmpty else { return "<p class=\"empty\">None.</p>" }
        let head = heads.map { "<th scope=\"col\">\($0)</th>" }.joined()
        let body = rows.map { row in
            let cells = zip(heads, row).map { "<td data-head=\"\($0)\"><div>\($1.html)</div></td>" }.joined()
            return "<tr>\(cells)</tr>"
        }
        return "<table><thead><tr>\(head)</tr></thead><tbody>\(body.joined())</tbody></table>"
    }

    // MARK: Events

    private var eventList: String {
        let names = Dictionary(self.tasks.tasks.map { ($0.id.description, self.name(of: $0)) }) { first, _ in first }
        return EventList(
            groups: EventGroup.all(of: self.record), party: self.party, taskNames: names, now: self.now
        ).html
    }

    private func name(of task: TaskInfo) -> String {
        task.displayName ?? "\(task.method) \(self.configuration.redaction.text(of: task.url))"
    }
}

extension EventLine.Tone {
    // A style sheet does not reach into an icon.
    fileprivate var iconColour: String {
        switch self {
        case .good: "15803d"
        case .bad: "d92d2d"
        case .wait: "b87a00"
        case .plain: "748496"
        }
    }
}
