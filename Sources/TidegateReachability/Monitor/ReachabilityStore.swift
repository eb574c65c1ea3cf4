internal import Synchronization
internal import TidegateCore

/// What the netlink thread has written up for everybody else to read.
final class ReachabilityStore: Sendable {
    /// The board's content.
    struct Content {
        /// As people see it, targets left out.
        var status: ReachabilityStatus
        /// The configured targets, in order.
        var targetOrder: [Target] = []
        var targetsForPeople: [Target: TargetVerdict] = [:]
        var targetsForGates: [Target: TargetVerdict] = [:]
        var familiesForGates: [AddressFamily: Verdict] = [:]
        var heldAddresses: Set<IPAddress> = []
        var blindness: String?
        var isReady = false
    }

    private let content: Mutex<Content>

    init(mode: ReachabilityStatus.Mode) {
        self.content = Mutex(Content(status: .blind(mode: mode)))
    }

    func read<Result: Sendable>(_ body: (borrowing Content) -> Result) -> Result {
        self.content.withLock { body($0) }
    }

    func write(_ body: (inout Content) -> Void) {
        self.content.withLock { body(&$0) }
    }

    /// Everything, as people see it.
    var status: ReachabilityStatus {
        self.content.withLock { content in
            var status = content.status
            status.targets = content.targetOrder.map {
                content.targetsForPeople[$0] ?? TargetVerdict(target: $0, verdict: .unknown)
            }
            return status
        }
    }
}
