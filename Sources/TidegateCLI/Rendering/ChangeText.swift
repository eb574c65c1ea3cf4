internal import Tidegate

/// Words a change for people, a line each.
enum ChangeText {
    /// The line of an event, whose reasons may name one of `links`; nil for events that `watch` does not show.
    static func line(_ event: Event, among links: [Link], _ style: TextStyle) -> String? {
        let time = style.paint(self.clock(event.time), .faint)
        switch event.payload {
        case .path(let path): return "\(time)  \(self.words(path, links, style))"
        case .link(let link): return self.words(link).map { "\(time)  \($0)" }
        case .netlink(.overrun): return "\(time)  the kernel dropped messages: reading everything again"
        case .netlink(.lost(let text)): return "\(time)  the kernel cannot be read any more: \(text)"
        case .netlink, .task, .session, .daemon: return nil
        }
    }

    private static func words(_ path: PathEvent, _ links: [Link], _ style: TextStyle) -> String {
        let scope =
            switch path.scope {
            case .global: "network"
            case .family(let family): family.rawValue
            case .target(let target): target.description
            }
        let now = style.paint(path.to.level.rawValue, path.to.level.tone)
        let change = path.from.level == path.to.level ? now : "\(path.from.level.rawValue) -> \(now)"
        let words = path.to.words(among: links)
        return "\(style.paint(scope, .strong))  \(change)\(words.isEmpty ? "" : "  \(words)")"
    }

    private static func words(_ event: LinkEvent) -> String? {
        guard let link = event.to else { return event.from.map { "link \($0.name) is gone" } }
        let state = link.kind == .loopback ? (link.isAdminUp ? "up" : "down") : link.stateWords
        guard let old = event.from else { return "link \(link.name) appeared: \(state)" }
        guard old.name == link.name else { return "link \(old.name) is now named \(link.name): \(state)" }
        return "link \(link.name): \(state)"
    }

    /// The time of day in UTC, to the millisecond: `23:14:22.123Z`.
    static func clock(_ time: WallTime) -> String { String(time.description.drop { $0 != "T" }.dropFirst()) }
}
