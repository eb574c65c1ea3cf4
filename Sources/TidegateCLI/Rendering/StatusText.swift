internal import Tidegate

/// The text of `status`.
enum StatusText {
    /// The lines of a status.
    static func lines(_ status: ReachabilityStatus, _ style: TextStyle) -> [String] {
        var blocks = [self.verdicts(status).lines(style)]
        if !status.targets.isEmpty { blocks.append(self.targets(status).lines(style)) }
        if !status.links.isEmpty { blocks.append(self.links(status).lines(style)) }
        let notes = self.notes(status)
        if !notes.isEmpty { blocks.append(notes) }
        return Array(blocks.joined(separator: [""]))
    }

    private static func verdicts(_ status: ReachabilityStatus) -> Table {
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

    private static func targets(_ status: ReachabilityStatus) -> Table {
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

    private static func links(_ status: ReachabilityStatus) -> Table {
        var table = Table(head: ["LINK", "TYPE", "STATE", "ADDRESSES"])
        for link in status.links {
            let addresses = link.addresses.map(\.description)
            table.add(
                .init(self.name(of: link, among: status.links)), .init(link.kind.rawValue), self.state(of: link),
                .init(parts: addresses.isEmpty ? ["-"] : addresses))
        }
        return table
    }

    private static func notes(_ status: ReachabilityStatus) -> [String] {
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

    private static func level(_ verdict: Verdict) -> Table.Cell { .init(verdict.level.rawValue, verdict.level.color) }

    private static func path(_ verdict: Verdict, _ links: [Link]) -> Table.Cell {
        .init(parts: verdict.details(among: links))
    }

    private static func name(of link: Link, among links: [Link]) -> String {
        guard let master = link.master else { return link.name }
        return "\(link.name) in \(links.first { $0.index == master }?.name ?? String(master))"
    }

    private static func state(of link: Link) -> Table.Cell {
        // Loopback is never usable for a path, which is not a fault.
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
