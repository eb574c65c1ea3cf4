internal import TidegateCore
internal import TidegateNetwork

/// Evaluates whether addresses can be the source of traffic to other hosts.
enum AddressEvaluator {
    /// Why an address does not count; nil when it does.
    ///
    /// Loopback addresses count as none at all.
    static func reason(_ address: KernelAddress) -> UnreachableReason? {
        if address.address.isLoopback { return .noAddress }
        // By prefix: the kernel gives 169.254/16 the scope it was configured with.
        if address.address.isLinkLocal { return .linkLocalOnly }
        if address.flags & KernelAddress.flagDadFailed != 0 { return .dadFailed }
        let isTentative = address.flags & KernelAddress.flagTentative != 0
        let isOptimistic = address.flags & KernelAddress.flagOptimistic != 0
        return isTentative && !isOptimistic ? .tentative : nil
    }

    /// The reason of the address that comes closest to counting.
    static func closest(_ reasons: some Sequence<UnreachableReason>) -> UnreachableReason {
        let order: [UnreachableReason] = [.noAddress, .linkLocalOnly, .dadFailed, .tentative]
        return reasons.max { (order.firstIndex(of: $0) ?? 0) < (order.firstIndex(of: $1) ?? 0) } ?? .noAddress
    }
}
