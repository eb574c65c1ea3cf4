internal import Tidegate

/// Checks the conditions that the kernel's state alone cannot decide.
struct ConditionChecker: Sendable {
    private let diagnostics: PathDiagnostics
    private let family: AddressFamily?
    private static let timeout: Duration = .seconds(5)

    /// A checker on a monitor; over the options' family only, if they name one.
    init(_ monitor: OneShotMonitor, _ options: WaitOptions.Parsed) {
        self.diagnostics = monitor.diagnostics(options.internetCheck)
        self.family = options.family
    }

    /// Checks once; pending if there is no path for the check.
    func check(_ condition: WaitCondition, in status: ReachabilityStatus) async -> ConditionEvidence {
        switch condition {
        case .carrier, .address, .route, .host(_, nil): return .pending
        case .gateway: return await self.overRoutedFamilies(in: status) { await self.diagnostics.gateway($0) }
        case .internet: return await self.overRoutedFamilies(in: status) { await self.diagnostics.internet($0) }
        // Even without a route a resolver on this host may answer; the ladder considers routes first.
        case .dns: return .rungs([await self.diagnostics.dns(self.family)])
        case .host(let target, let check?):
            guard self.isRouted(target, in: status) else { return .pending }
            return .host(
                await self.diagnostics.host(target, check, family: self.family, within: ConditionChecker.timeout))
        }
    }

    private func overRoutedFamilies(
        in status: ReachabilityStatus, _ check: @escaping @Sendable (AddressFamily) async -> RungReport
    ) async -> ConditionEvidence {
        let families = status.families.filter { $0.verdict.level >= .routed }.map(\.family)
            .filter { self.family == nil || $0 == self.family }
        let reports = await withTaskGroup(of: RungReport.self) { group in
            for family in families { group.addTask { await check(family) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        return .rungs(reports)
    }

    private func isRouted(_ target: Target, in status: ReachabilityStatus) -> Bool {
        let addresses = status.targets.first { $0.target == target }?.addresses ?? []
        return addresses.contains { entry in
            entry.verdict.level >= .routed && (self.family == nil || entry.address.family == self.family)
        }
    }
}
