internal import Tidegate

/// Asks about the conditions that the kernel's state alone does not answer.
struct ConditionAsker: Sendable {
    private let hosts: HostChecks

    init(_ look: Look, family: AddressFamily?) {
        self.hosts = HostChecks(look, family: family)
    }

    /// Asks once.
    func ask(_ condition: WaitCondition, in status: ReachabilityStatus) async -> ConditionEvidence {
        switch condition {
        case .carrier, .address, .route, .host(_, nil): .pending
        case .gateway, .dns, .internet: .pending
        case .host(_, _?): .host(await self.hosts.result(for: condition, in: status))
        }
    }
}
