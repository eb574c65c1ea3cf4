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

    @discardableResult
    func update(_ verdict: TargetVerdict) -> KnownVerdict {
        let known = KnownVerdict(verdict)
        self.known = known
        self.name.verdictArrived()
        if let path = verdict.verdict.path, verdict.verdict.level >= .routed { self.lastInterface = path.interface }
        return known
    }

    /// False while it is known that nothing leads to the target; without copying the verdict.
    var hasRoute: Bool {
        guard let level = self.known?.verdict.verdict.level else { return true }
        return level == .unknown || level >= .routed
    }

    /// The verdict that an attempt to `remote` goes by; its path is nil if only paths to others are known.
    func verdict(for remote: IPAddress?) -> Verdict { self.known?.verdict(for: remote) ?? .unknown }
}

/// A verdict as it came; targets and attempts keep it as one reference.
final class KnownVerdict {
    let verdict: TargetVerdict

    init(_ verdict: TargetVerdict) { self.verdict = verdict }

    /// The verdict on the target itself.
    ///
    /// While the monitor has no address of a name, its verdict is the one on the resolvers, whose path is another.
    var ownVerdict: Verdict {
        guard self.verdict.addresses.isEmpty, self.verdict.target.address == nil else { return self.verdict.verdict }
        return self.verdict.verdict.withoutPath
    }

    /// The verdict on one address; without a path if the monitor does not know of this one.
    func verdict(for remote: IPAddress?) -> Verdict {
        guard let remote, self.verdict.target.address == nil else { return self.ownVerdict }
        let own = self.verdict.addresses.first { $0.address == remote }
        return own?.verdict ?? self.verdict.verdict.withoutPath
    }
}

extension Verdict {
    fileprivate var withoutPath: Verdict {
        var verdict = self
        verdict.path = nil
        return verdict
    }
}
