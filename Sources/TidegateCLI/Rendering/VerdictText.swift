internal import Tidegate

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
