internal import TidegateCore
internal import TidegateTransfer

/// Per-target state: the path watch, the resolved addresses, and the tasks waiting for them.
final class TargetState {
    let number: UInt64
    let target: Target
    /// The address that is the target's name; nil for one that has to be looked up.
    let literalAddress: [IPAddress]?
    var watch: PathWatch?
    /// What is known of the target; nil before the first verdict.
    private(set) var known: KnownVerdict?
    /// The tasks whose current hop leads here.
    var tasks = IntegerMap<UInt64>()
    /// Tasks that wait for the first verdict.
    var awaitingVerdict: [UInt64] = []
    /// Tasks that found the gate shut, in the order they came.
    var waiting: [UInt64] = []
    var names = NameLookup()
    var connections = UsedConnections()
    var canary = CanaryRelease()
    /// The interface of the last verdict that had a path.
    private(set) var lastInterface: String?
    var timers: [PathTimer: TransferTimer] = [:]

    /// The addresses of the target's name, as the session's own resolver gives them.
    struct NameLookup {
        enum Addresses {
            case unknown
            case inProgress
            case known([IPAddress], until: MonotonicTime)
        }

        var addresses = Addresses.unknown
        /// Counts lookups, so that an answer from before a network change is not taken for a new one.
        var lookup = 0
        /// Tasks that wait for the answer.
        var waiting: [UInt64] = []
        /// True from a network change until the next verdict: the last one's addresses may be another network's.
        var isVerdictOutdated = false
    }

    /// What the connections of the current pool were made on.
    struct UsedConnections {
        /// What was known of the target then.
        var known: KnownVerdict?
        /// The connection pool's generation.
        var generation = 0
        /// Since when no path leads to the target; nil while one does.
        var lostSince: MonotonicTime?
    }

    init(number: UInt64, target: Target) {
        self.number = number
        self.target = target
        self.literalAddress = target.address.map { [$0] }
    }

    var verdict: TargetVerdict? { self.known?.verdict }

    func update(_ verdict: TargetVerdict) {
        self.known = KnownVerdict(verdict)
        self.names.isVerdictOutdated = false
        if let path = verdict.verdict.path, verdict.verdict.level >= .routed { self.lastInterface = path.interface }
    }

    /// False while it is known that nothing leads to the target; without copying the verdict.
    var hasRoute: Bool {
        guard let level = self.known?.verdict.verdict.level else { return true }
        return level == .unknown || level >= .routed
    }

    /// The verdict that an attempt to `remote` goes by.
    func verdict(for remote: IPAddress?) -> Verdict {
        guard let remote, let addresses = self.verdict?.addresses, !addresses.isEmpty,
            let own = addresses.first(where: { $0.address == remote })
        else { return self.verdict?.verdict ?? .unknown }
        return own.verdict
    }
}

/// A verdict as it came; targets and attempts keep it as one reference.
final class KnownVerdict {
    let verdict: TargetVerdict

    init(_ verdict: TargetVerdict) { self.verdict = verdict }
}
