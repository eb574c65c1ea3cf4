internal import TidegateCore

/// The status page: the state of the monitor at one moment, correct without the script.
struct PageView {
    let status: ReachabilityStatus
    let tasks: [TaskInfo]
    let timeline: TimelineSVG
    /// The latest events shown, oldest first.
    let events: [Event]
    let now: WallTime
    let configuration: EndpointConfiguration

    /// How many events are shown.
    static let eventLimit = 24

    /// Nothing is loaded; the one style sheet and the one script are allowed by their hashes.
    ///
    /// After a change of `page.html`, put the digests that PageTests computes here.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'sha256-mVcI3jD+72JaUOHgeG/zBcY3i+DQjr37na+0EWEmLvw='",
        "style-src 'sha256-9FhTf4gK5o4eOdy6itPpuwdmBFvWYhFQU401riHhwOk='", "connect-src 'self'", "img-src data:",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    var html: String {
        let tasks = TaskRows(tasks: self.tasks, redaction: self.configuration.redaction)
        let level = self.status.global.level
        let values = [
            "level": level.rawValue, "headline": level.headline, "meaning": level.meaning, "facts": self.facts,
            "icon": level.tone.iconColour,
            "families": self.status.families.map { LadderView(family: $0.family, verdict: $0.verdict).html }.joined(),
            "links": self.linkTable, "targets": self.targetTable, "tasks": tasks.html,
            "summary": HTML.escaped(tasks.summary), "timeline": self.timeline.html(current: level),
            "window": self.timeline.window.shortText, "events": self.eventList,
            "now": self.now.description, "clock": self.now.dateAndTime,
            "version": HTML.escaped(self.configuration.version),
            "telemetry": HTML.escaped(self.configuration.telemetryPath),
        ]
        return HTML.filled(String(decoding: PackageResources.page_html, as: UTF8.self), with: values)
    }

    private var facts: String {
        var facts: [(name: String, html: String)] = []
        if let since = self.status.since {
            let ago = "<span data-since=\"\(since)\">\(since.ago(at: self.now).shortText)</span>"
            facts.append(("Since", "\(self.time(since, since.dateAndTime)) (\(ago))"))
        }
        if let reason = self.status.global.reason {
            facts.append(("Because", "<b>\(HTML.escaped(self.clause(self.status.global) ?? reason.description))</b>"))
        }
        if let path = self.status.global.path { facts.append(("Via", HTML.escaped(path.description))) }
        facts.append(("Updated by", HTML.escaped(self.status.mode.description)))
        if !self.status.health.isConsistent { facts.append(("Kernel", "the tables are being read again")) }
        return facts.map { "<div><dt>\($0.name)</dt><dd>\($0.html)</dd></div>" }.joined()
    }

    // The reason with the link that it is about.
    private func clause(_ verdict: Verdict) -> String? {
        VerdictDescriptions.phrase(verdict, among: self.status.links)
    }

    // MARK: Tables

    private var linkTable: String {
        let rows = self.status.links.map { link -> [Cell] in
            let state = link.isUsable ? Cell.good("usable") : link.kind == .loopback ? .text("this host") : nil
            return [
                .text(link.name), .text(link.kind.rawValue),
                state ?? .bad(link.reason?.description(ofLink: link.name) ?? "no"),
                .text("\(link.isAdminUp ? "up" : "down"), \(link.hasCarrier ? "carrier" : "no carrier")"),
                .text(link.addresses.map(\.description).joined(separator: ", ")),
            ]
        }
        return self.table(["Interface", "Type", "State", "Kernel", "Addresses"], rows)
    }

    private var targetTable: String {
        let rows = self.status.targets.map { entry -> [Cell] in
            let name = self.configuration.targetNames[entry.target].map { "\($0) (\(entry.target))" }
            return [
                .text(name ?? entry.target.description), .level(entry.verdict.level),
                .text(self.clause(entry.verdict) ?? entry.verdict.path?.description),
            ]
        }
        guard !rows.isEmpty else { return "<p class=\"empty\">No targets are configured.</p>" }
        return self.table(["Target", "Level", "Reason or path"], rows)
    }

    private func table(_ heads: [String], _ rows: [[Cell]]) -> String {
        guard !rows.isEmpty else { return "<p class=\"empty\">None.</p>" }
        let head = heads.map { "<th scope=\"col\">\($0)</th>" }.joined()
        let body = rows.map { row in
            let cells = zip(heads, row).map { "<td data-head=\"\($0)\">\($1.html)</td>" }.joined()
            return "<tr>\(cells)</tr>"
        }
        return "<table><thead><tr>\(head)</tr></thead><tbody>\(body.joined())</tbody></table>"
    }

    // MARK: Events

    private var eventList: String {
        guard !self.events.isEmpty else { return "<p class=\"empty\">Nothing has happened yet.</p>" }
        let names = Dictionary(self.tasks.map { ($0.id, self.name(of: $0)) }) { first, _ in first }
        let lines = self.events.reversed().map { event in
            let line = EventLine(event, redaction: self.configuration.redaction) {
                names[$0] ?? "task \($0.description.suffix(6))"
            }
            let party = line.party.map { "<span class=\"party party-\($0.rawValue)\">\($0)</span>" } ?? ""
            return "<li class=\"\(line.tone.rawValue)\">\(self.time(event.time, event.time.clockTime))"
                + "<span>\(HTML.escaped(line.text)) \(party)</span></li>"
        }
        return "<ol class=\"events\">\(lines.joined())</ol>"
    }

    private func name(of task: TaskInfo) -> String {
        task.name ?? "\(task.method) \(self.configuration.redaction.text(of: task.url))"
    }

    private func time(_ moment: WallTime, _ text: String) -> String { "<time datetime=\"\(moment)\">\(text)</time>" }
}

extension EventLine.Tone {
    // A style sheet does not reach into an icon.
    fileprivate var iconColour: String {
        switch self {
        case .good: "16a34a"
        case .bad: "dc2626"
        case .wait: "d97706"
        case .plain: "64748b"
        }
    }
}
