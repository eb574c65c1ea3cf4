internal import Tidegate
internal import TidegateServer

/// The text of `status`.
struct StatusText {
    /// Also shows routing tables, interface indexes and operational states.
    var isVerbose = false

    /// The lines of a status.
    func lines(
        _ status: ReachabilityStatus, _ style: TextStyle, _ daemon: DaemonReport? = nil
    ) -> [String] {
        var blocks = [self.verdicts(status).lines(style)]
        if let uplinks = daemon?.uplinks, !uplinks.isEmpty { blocks.append(self.table(uplinks).lines(style)) }
        if !status.targets.isEmpty { blocks.append(self.targets(status).lines(style)) }
        if !status.links.isEmpty { blocks.append(self.links(status).lines(style)) }
        let notes = self.notes(status) + [daemon?.slowness, daemon?.observation?.sentence].compactMap(\.self)
        if !notes.isEmpty { blocks.append(notes) }
        return Array(blocks.joined(separator: [""]))
    }

    private func verdicts(_ status: ReachabilityStatus) -> Table {
        var table = Table()
        let since = status.since.map { "since \($0)" }
        let why = status.global.level < .routed ? VerdictDescriptions.phrase(status.global, among: status.links) : nil
        table.add(.init("network", .strong), self.level(status.global), .init(parts: [why, since].compactMap(\.self)))
        for family in status.families {
            table.add(
                .init(family.family.rawValue), self.level(family.verdict), self.path(family.verdict, status.links))
        }
        return table
    }

    private func table(_ uplinks: [JSONValue]) -> Table {
        var table = Table(head: ["UPLINK", "GATEWAY", "ROLE", "STATE"])
        for uplink in uplinks {
            let state = uplink["state"]?.text.flatMap { Uplink.State(rawValue: $0) } ?? .unknown
            let since = uplink["since"]?.text.map { "since \($0)" }
            let colour: TextColor = state == .works ? .good : state.isBroken ? .bad : .faint
            let start = ["interface", "gateway", "role"].map { Table.Cell(uplink[$0]?.text ?? "-") }
            table.add(start + [.init(parts: [uplink["text"]?.text, since].compactMap(\.self), color: colour)])
        }
        return table
    }

    private func targets(_ status: ReachabilityStatus) -> Table {
        var table = Table(head: ["TARGET", "LEVEL", "PATH"])
        for entry in status.targets {
            table.add(
                .init(entry.target.description), self.level(entry.verdict), self.path(entry.verdict, status.links))
            // A literal address would only be repeated.
            guard entry.target.address == nil else { continue }
            for address in entry.addresses {
                let isSame = address.verdict.isEquivalent(to: entry.verdict)
                table.add(
                    .init("  \(address.address)", .faint), self.level(address.verdict),
                    isSame ? .init("") : self.path(address.verdict, status.links))
            }
        }
        return table
    }

    private func links(_ status: ReachabilityStatus) -> Table {
        var table = Table(
            head: ["LINK", "TYPE", "STATE"] + (self.isVerbose ? ["INDEX", "OPERSTATE"] : []) + ["ADDRESSES"])
        for link in status.links {
            let addresses = link.addresses.map(\.description)
            let details: [Table.Cell] = [.init("\(link.index)"), .init(link.operState.rawValue)]
            let start: [Table.Cell] = [
                .init(self.name(of: link, among: status.links)), .init(link.kind.rawValue), self.state(of: link),
            ]
            table.add(
                start + (self.isVerbose ? details : []) + [.init(parts: addresses.isEmpty ? ["-"] : addresses)])
        }
        return table
    }

    private func notes(_ status: ReachabilityStatus) -> [String] {
        var lines: [String] = []
        if status.global.level == .unknown {
            lines.append("Gates are open while the level is unknown.")
        }
        if status.mode == .storm { lines.append("Routes change too fast to track; evaluating periodically.") }
        if status.mode == .poll { lines.append("The kernel sends no notifications; evaluating periodically.") }
        if status.health.overruns > 0 {
            lines.append("The kernel dropped messages (overruns: \(status.health.overruns)); state was resynchronized.")
        }
        return lines
    }

    private func level(_ verdict: Verdict) -> Table.Cell { .init(verdict.level.rawValue, verdict.level.color) }

    private func path(_ verdict: Verdict, _ links: [Link]) -> Table.Cell {
        let table = self.isVerbose ? verdict.path?.table.map { "table \($0)" } : nil
        return .init(parts: verdict.details(among: links) + [table].compactMap(\.self))
    }

    private func name(of link: Link, among links: [Link]) -> String {
        guard let master = link.master else { return link.name }
        return "\(link.name) in \(links.first { $0.index == master }?.name ?? String(master))"
    }

    private func state(of link: Link) -> Table.Cell {
        // Loopback never provides a path, which is not a fault.
        if link.kind == .loopback { return .init(link.isAdminUp ? "up" : "down", .faint) }
        return .init(link.stateDescription, link.isUsable ? .good : .bad)
    }
}

extension ReachabilityLevel {
    /// The color of the level in tables.
    var color: TextColor {
        switch self {
        case .unknown, .local, .limited, .portal: .doubtful
        case .none: .bad
        case .routed, .online: .good
        }
    }
}

extension Verdict {
    /// The path, `via 10.0.0.1 on eth0` and `source 10.0.0.2`, or the reason, `eth0 has no carrier`; then the warnings.
    func details(among links: [Link]) -> [String] {
        self.pathDetails(among: links) + self.notes.map(\.description)
    }

    private func pathDetails(among links: [Link]) -> [String] {
        guard self.level >= .routed else { return VerdictDescriptions.phrase(self, among: links).map { [$0] } ?? [] }
        guard let path = self.path else { return [] }
        let hop = path.gateway.map { "via \($0) on \(path.interface)" } ?? "on \(path.interface)"
        return [hop] + (path.source.map { ["source \($0)"] } ?? [])
    }
}

extension Link {
    /// The link's state, without its name.
    var stateDescription: String {
        guard let reason = self.reason else { return "up" }
        return Link.stateDescription[reason] ?? reason.description(ofLink: self.name)
    }

    private static let stateDescription: [UnreachableReason: String] = [
        .adminDown: "admin down", .noCarrier: "no carrier", .dormant: "dormant", .flapping: "flapping",
        .lowerLayerDown: "lower layer down",
    ]
}

/// The lines of `watch`.
enum ChangeText {
    /// The line for an event; nil for events that only `watch -v` shows.
    ///
    /// `links` provides the names of links in reasons.
    static func line(
        _ event: Event, among links: [Link], _ style: TextStyle, isVerbose: Bool = false
    ) -> String? {
        let time = style.paint(self.clock(event.time), .faint)
        switch event.payload {
        case .path(let path): return "\(time)  \(self.text(path, links, style))"
        case .link(let link): return self.text(link).map { "\(time)  \($0)" }
        case .netlink(.overrun): return "\(time)  the kernel dropped messages; resynchronizing"
        case .netlink(.lost(let text)): return "\(time)  lost the connection to the kernel: \(text)"
        default: return isVerbose ? "\(time)  \(event.sentence)" : nil
        }
    }

    private static func text(_ path: PathEvent, _ links: [Link], _ style: TextStyle) -> String {
        let scope =
            switch path.scope {
            case .global: "network"
            case .family(let family): family.rawValue
            case .target(let target): target.description
            }
        let now = style.paint(path.to.level.rawValue, path.to.level.color)
        let change = path.from.level == path.to.level ? now : "\(path.from.level.rawValue) -> \(now)"
        let detail = path.to.details(among: links).joined(separator: ", ")
        return "\(style.paint(scope, .strong))  \(change)\(detail.isEmpty ? "" : "  \(detail)")"
    }

    private static func text(_ event: LinkEvent) -> String? {
        guard let link = event.to else { return event.from.map { "link \($0.name) removed" } }
        let state = link.kind == .loopback ? (link.isAdminUp ? "up" : "down") : link.stateDescription
        guard let old = event.from else { return "link \(link.name) added: \(state)" }
        guard old.name == link.name else { return "link \(old.name) renamed to \(link.name): \(state)" }
        return "link \(link.name): \(state)"
    }

    /// The time of day in UTC, to the millisecond: `23:14:22.123Z`.
    static func clock(_ time: WallTime) -> String { String(time.description.drop { $0 != "T" }.dropFirst()) }
}

extension DaemonReport {
    /// What is slow, in one line for `status`; nil if nothing is.
    fileprivate var slowness: String? {
        let targets = self.quality["targets"]?.elements ?? []
        let isNetwork = self.quality["network"]?["text"] != nil
        guard let trouble = isNetwork ? self.quality["network"] : targets.first, let text = trouble["text"]?.text else {
            return nil
        }
        let since = trouble["since"]?.text.flatMap { WallTime($0) }.map { ", since \($0.clockTime) UTC" } ?? ""
        let place = trouble["target"]?.text.map { "\($0): " } ?? ""
        let advice = trouble["advice"]?.text.flatMap { $0.isEmpty ? nil : ". \($0)" } ?? "."
        let more = targets.count - (isNetwork ? 0 : 1)
        return "slow: \(place)\(text)\(since)\(advice)" + (more > 0 ? " Slow targets besides: \(more)." : "")
    }
}

extension DaemonReport.Observation {
    /// The member `observation` of `status --json`.
    var json: JSONValue { ["mode": .string(self.mode), "reason": .optional(self.reason)] }

    /// One sentence for `status`.
    fileprivate var sentence: String {
        let how = ObservationMode.allCases.first { $0.label == self.mode }?.description ?? self.mode
        return "The sidecar observes connections by \(how)\(self.reason.map { ": \($0)" } ?? "")."
    }
}
