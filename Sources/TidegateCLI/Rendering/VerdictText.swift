internal import Tidegate

extension ReachabilityLevel {
    /// The colour that people expect of it.
    var tone: TextStyle.Tone {
        switch self {
        case .unknown, .local, .limited, .portal: .doubtful
        case .none: .bad
        case .routed, .online: .good
        }
    }
}

extension Verdict {
    /// How a packet goes, `via 10.0.0.1 on eth0` and `source 10.0.0.2`, or why it does not, `eth0 has no carrier`;
    /// then what else is worth knowing.
    func parts(among links: [Link]) -> [String] {
        self.way(among: links) + self.notes.map(\.words)
    }

    /// ``parts(among:)`` on one line.
    func words(among links: [Link]) -> String { self.parts(among: links).joined(separator: ", ") }

    private func way(among links: [Link]) -> [String] {
        guard self.level >= .routed else { return VerdictDescriptions.phrase(self, among: links).map { [$0] } ?? [] }
        guard let path = self.path else { return [] }
        let way = path.gateway.map { "via \($0) on \(path.interface)" } ?? "on \(path.interface)"
        return [way] + (path.source.map { ["source \($0)"] } ?? [])
    }
}

extension PathWarning {
    /// The note as people read it.
    var words: String {
        switch self {
        case .degradedMultipath(let live, let total): "only \(live) of \(total) nexthops usable"
        case .deprecatedOnly: "only deprecated source addresses"
        case .uniqueLocalSource: "unique local source address"
        case .mixedPaths: "different destinations leave by different ways"
        case .partial: "only part of the internet is routed"
        case .thisHost: "this host"
        case .tunnel: "through a tunnel"
        case .deadPreferredDefault: "a dead preferred default route hides a live one"
        }
    }
}

extension Link {
    /// The link's state in a word or two, without its name.
    var stateWords: String {
        guard let reason = self.reason else { return "up" }
        return Link.stateWords[reason] ?? VerdictDescriptions.phrase(reason, link: self.name)
    }

    private static let stateWords: [UnreachableReason: String] = [
        .adminDown: "admin down", .noCarrier: "no carrier", .dormant: "dormant", .lowerLayerDown: "lower layer down",
    ]
}
