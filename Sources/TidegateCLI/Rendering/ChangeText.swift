internal import Tidegate

/// The lines of `watch`.
enum ChangeText {
    /// The line for an event; nil for events that `watch` does not show.
    ///
    /// Reasons name links of `links`.
    static func line(_ event: Event, among links: [Link], _ style: TextStyle) -> String? {
        let time = style.paint(self.clock(event.time), .faint)
        switch event.payload {
        case .path(let path): return "\(time)  \(self.text(path, links, style))"
        case .link(let link): return self.text(link).map { "\(time)  \($0)" }
        case .netlink(.overrun): return "\(time)  the kernel dropped messages; resynchronizing"
        case .netlink(.lost(let text)): return "\(time)  lost the connection to the kernel: \(text)"
        default: return nil
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
