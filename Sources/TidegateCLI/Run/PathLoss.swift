internal import Tidegate

/// Sees in events that the path was lost, or became another one.
struct PathLoss: Sendable {
    private let family: AddressFamily?
    private let targets: Set<Target>

    /// Losses of these targets' paths, and of the families' (of one only where one was asked for).
    init(family: AddressFamily?, targets: [Target]) {
        self.family = family
        self.targets = Set(targets)
    }

    /// What was lost, in words; nil where the event is no loss.
    func words(of event: Event, among links: [Link]) -> String? {
        guard case .path(let change) = event.payload, self.isOurs(change.scope), change.from.level >= .routed else {
            return nil
        }
        if change.to.level == .unknown { return nil }
        if change.to.level < .routed { return VerdictDescriptions.phrase(change.to, among: links) ?? "no path" }
        guard let before = change.from.path, let after = change.to.path, !before.isSamePath(as: after) else {
            return nil
        }
        return "it moved from \(before.words) to \(after.words)"
    }

    private func isOurs(_ scope: PathEvent.Scope) -> Bool {
        switch scope {
        case .global: self.family == nil
        case .family(let family): self.family == nil || family == self.family
        case .target(let target): self.targets.contains(target)
        }
    }
}

extension NetworkPath {
    fileprivate var words: String {
        let gateway = self.gateway.map { " via \($0)" } ?? ""
        let source = self.source.map { " from \($0)" } ?? ""
        return "\(self.interface)\(gateway)\(source)"
    }
}
