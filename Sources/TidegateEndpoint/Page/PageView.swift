internal import TidegateModel

/// The status page: what the monitor knows at one moment, correct without any script.
struct PageView {
    let status: ReachabilityStatus
    let tasks: [TaskInfo]
    let now: WallTime
    let version: String
    let telemetryPath: String

    /// Nothing is loaded, sent or run; the one style sheet is known by its hash.
    static let contentSecurityPolicy =
        "default-src 'none'; style-src 'sha256-uNGHNOMEROeehYNN8riQYbX4J1GFQWKexVfEODvmKfI='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    var html: String {
        let values = [
            "level": self.status.global.level.rawValue, "headline": self.status.global.level.headline,
            "meaning": self.status.global.level.meaning, "facts": self.facts,
            "families": self.table(["Family", "Level", "Why", "Link", "Gateway", "Source", "Notes"], self.familyRows),
            "links": self.table(["Link", "Type", "Usable", "Carrier", "State", "Addresses"], self.linkRows),
            "targets": self.targetSection, "tasks": self.taskSection, "now": HTML.escaped(self.now.description),
            "version": HTML.escaped(self.version), "telemetry": HTML.escaped(self.telemetryPath),
        ]
        return HTML.filled(String(decoding: PackageResources.page_html, as: UTF8.self), with: values)
    }

    private var facts: String {
        var facts: [(String, String)] = []
        if let reason = self.status.global.reason { facts.append(("Because", reason.words)) }
        if let path = self.status.global.path { facts.append(("Via", path.words)) }
        if let since = self.status.since { facts.append(("Since", since.description)) }
        facts.append(("Watching by", self.status.mode.words))
        let health = self.status.health
        facts.append(
            (
                "Kernel",
                "full dumps: \(health.resyncs), overruns: \(health.overruns)\(health.isConsistent ? "" : ", resync")"
            ))
        return facts.map { "<div><dt>\(HTML.escaped($0))</dt><dd>\(HTML.escaped($1))</dd></div>" }.joined()
    }

    private var familyRows: [[Cell]] {
        self.status.families.map { entry in
            let verdict = entry.verdict
            return [
                .text(entry.family == .ipv4 ? "IPv4" : "IPv6"), .level(verdict.level),
                .text(verdict.reason?.words), .text(verdict.path?.interface), .text(verdict.path?.gateway?.description),
                .text(verdict.path?.source?.description),
                .text(verdict.notes.map(\.description).joined(separator: ", ")),
            ]
        }
    }

    private var linkRows: [[Cell]] {
        self.status.links.map { link in
            [
                .text(link.name), .text(link.kind.rawValue),
                link.isUsable ? .good("yes") : .bad(link.reason?.words ?? "no"),
                link.hasCarrier ? .good("yes") : .bad("no"),
                .text("\(link.isAdminUp ? "up" : "down") / \(link.operState.rawValue)"),
                .text(link.addresses.map(\.description).joined(separator: ", ")),
            ]
        }
    }

    private var targetSection: String {
        guard !self.status.targets.isEmpty else { return "" }
        let rows = self.status.targets.map { entry -> [Cell] in
            [
                .text(entry.target.description), .level(entry.verdict.level), .text(entry.verdict.reason?.words),
                .text(entry.verdict.path?.words),
                .text(entry.addresses.map(\.address.description).joined(separator: ", ")),
            ]
        }
        return "<h2>Targets</h2>" + self.table(["Target", "Level", "Why", "Via", "Addresses"], rows)
    }

    private var taskSection: String {
        guard !self.tasks.isEmpty else { return "<p class=\"none\">No tasks yet.</p>" }
        let rows = self.tasks.map { task -> [Cell] in
            [
                .text(task.name ?? task.kind.rawValue), .text("\(task.method) \(task.url)"), task.stateCell,
                .progress(task.progress), .text(task.progress.words),
                .text(task.progress.attempt > 0 ? String(task.progress.attempt) : nil),
            ]
        }
        return self.table(["Task", "Request", "State", "Progress", "Bytes", "Try"], rows)
    }

    private func table(_ heads: [String], _ rows: [[Cell]]) -> String {
        guard !rows.isEmpty else { return "<p class=\"none\">None.</p>" }
        let head = heads.map { "<th scope=\"col\">\($0)</th>" }.joined()
        let body = rows.map { row in
            let cells = zip(heads, row).map { "<td data-head=\"\($0)\">\($1.html)</td>" }.joined()
            return "<tr>\(cells)</tr>"
        }
        return "<table><thead><tr>\(head)</tr></thead><tbody>\(body.joined())</tbody></table>"
    }
}
