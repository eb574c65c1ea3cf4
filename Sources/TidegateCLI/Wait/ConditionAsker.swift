internal import Tidegate

/// Asks about the conditions that the kernel's state alone does not answer.
struct ConditionAsker: Sendable {
    private let climber: PathDiagnostics
    private let family: AddressFamily?
    private static let limit: Duration = .seconds(5)

    /// An asker by a look; only over `family` where one is given.
    init(_ look: Look, _ values: WaitOptions.Values) {
        self.climber = look.climber(values.internetCheck)
        self.family = values.family
    }

    /// Asks once; pending where there is no way to ask on.
    func ask(_ condition: WaitCondition, in status: ReachabilityStatus) async -> ConditionEvidence {
        switch condition {
        case .carrier, .address, .route, .host(_, nil): return .pending
        case .gateway: return await self.overRoutedFamilies(in: status) { await self.climber.gateway($0) }
        case .internet: return await self.overRoutedFamilies(in: status) { await self.climber.internet($0) }
        // Without any way out a resolver on this host may answer still; the ladder looks at routes first.
        case .dns: return .rungs([await self.climber.dns(self.family)])
        case .host(let target, let check?):
            guard self.hasWay(to: target, in: status) else { return .pending }
            return .host(
                await self.climber.host(target, check, family: self.family, within: ConditionAsker.limit))
        }
    }

    private func overRoutedFamilies(
        in status: ReachabilityStatus, _ ask: @escaping @Sendable (AddressFamily) async -> RungReport
    ) async -> ConditionEvidence {
        let families = status.families.filter { $0.verdict.level >= .routed }.map(\.family)
            .filter { self.family == nil || $0 == self.family }
        let reports = await withTaskGroup(of: RungReport.self) { group in
            for family in families { group.addTask { await ask(family) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        return .rungs(reports)
    }

    private func hasWay(to target: Target, in status: ReachabilityStatus) -> Bool {
        let addresses = status.targets.first { $0.target == target }?.addresses ?? []
        return addresses.contains { entry in
            entry.verdict.level >= .routed && (self.family == nil || entry.address.family == self.family)
        }
    }
}
