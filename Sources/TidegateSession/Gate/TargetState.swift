internal import TidegateCore
internal import TidegateTransfer

/// Per-target state: the path watch, the resolved addresses, and the tasks waiting for them.
final class TargetState {
    let number: UInt64
    let target: Target
    var watch: PathWatch?
    /// What is known of the target; nil before the first verdict.
    private(set) var known: KnownVerdict?
    /// The tasks whose current hop leads here.
    var tasks = IntegerMap<UInt64>()
    /// Tasks that wait for the first verdict.
    var awaitingVerdict = WaitingTasks()
    /// Tasks that found the gate shut, in the order they came.
    var waiting = WaitingTasks()
    var name: NameLookup
    var pooled = PooledPath()
    var canary = CanaryRelease()
    /// The interface of the last verdict that had a path.
    private(set) var lastInterface: String?
    var timers: [PathTimer: TransferTimer] = [:]

    init(number: UInt64, target: Target) {
        self.number = number
        self.target = target
        self.name = NameLookup(literal: target.address)
    }

    var verdict: TargetVerdict? { self.known?.verdict }

    func update(_ verdict: TargetVerdict) {
        self.known = KnownVerdict(verdict)
        self.name.verdictArrived()
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
