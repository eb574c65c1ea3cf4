internal import Tidegate

/// Recognizes events in which a path was lost or replaced by another one.
struct PathLoss: Sendable {
    /// The family whose default path counts; nil for both.
    let family: AddressFamily?
    /// The targets whose paths count, too.
    let targets: [Target]

    /// What was lost; nil if the event is not a loss.
    func description(of event: Event, among links: [Link]) -> String? {
        guard case .path(let change) = event.payload, self.isRelevant(change.scope), change.from.level >= .routed else {
            return nil
        }
        if change.to.level == .unknown { return nil }
        if change.to.level < .routed { return VerdictDescriptions.phrase(change.to, among: links) ?? "no path" }
        guard let before = change.from.path, let after = change.to.path, !before.isSamePath(as: after) else {
            return nil
        }
        return "moved from \(before) to \(after)"
    }

    private func isRelevant(_ scope: PathEvent.Scope) -> Bool {
        switch scope {
        case .global: self.family == nil
        case .family(let family): self.family == nil || family == self.family
        case .target(let target): self.targets.contains(target)
        }
    }
}
