internal import Synchronization
internal import TidegateCore

/// The state that other threads read; written only on the netlink thread.
final class ReachabilityStore: Sendable {
    /// What the store holds.
    struct Content {
        /// As published, without targets.
        var status: ReachabilityStatus
        /// The configured targets, in order.
        var targetOrder: [Target] = []
        var publishedTargets: [Target: TargetVerdict] = [:]
        var gatingTargets: [Target: TargetVerdict] = [:]
        var gatingFamilies: [AddressFamily: Verdict] = [:]
        /// Addresses of this host, on links in any state.
        var heldAddresses: Set<IPAddress> = []
        /// Why the kernel cannot be read; nil while it can.
        var unavailableReason: String?
        var isReady = false
    }

    private let content: Mutex<Content>

    init(mode: ReachabilityStatus.Mode) {
        self.content = Mutex(Content(status: .unavailable(mode: mode)))
    }

    func read<Result: Sendable>(_ body: (borrowing Content) -> Result) -> Result {
        self.content.withLock { body($0) }
    }

    func write(_ body: (inout Content) -> Void) {
        self.content.withLock { body(&$0) }
    }

    /// Everything, as published.
    var status: ReachabilityStatus {
        self.content.withLock { content in
            var status = content.status
            status.targets = content.targetOrder.map {
                content.publishedTargets[$0] ?? TargetVerdict(target: $0, verdict: .unknown)
            }
            return status
        }
    }
}
