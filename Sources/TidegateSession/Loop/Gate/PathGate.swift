internal import TidegateCore
internal import TidegateTransfer

/// The gate at which attempts wait for a path: one watch per target for any number of waiting tasks.
///
/// Gates delay, they never forbid: a path source that stays silent or cannot see opens every gate.
final class PathGate {
    /// What other threads report.
    enum Event: Sendable {
        /// The watch of a target has a new verdict.
        case verdict(TargetVerdict)
        /// A name was resolved, or could not be.
        case resolved(lookup: Int, Result<[IPAddress], ResolveFailure>)
    }

    /// How a running attempt's path has changed.
    enum PathChange {
        case none
        /// The source address is gone, or packets take another path.
        case moved
        /// Packets cannot leave now, but the address is still present.
        case down
        /// The same path as before.
        case back
    }

    /// How long an empty target is kept, because the next task may come soon.
    private static let idleTime = Duration.seconds(60)
    /// How long a path source may take for its first verdict.
    private static let firstVerdictTime = Duration.seconds(1)

    let paths: any PathSource
    private let timers: any TimerQueue
    private let deliver: @Sendable (_ target: UInt64, Event) -> Void
    private var targets: [Target: TargetState] = [:]
    private var targetsByNumber: [UInt64: TargetState] = [:]
    private var lastNumber: UInt64 = 0
    /// The results of gate evaluations since the current input came.
    private var evaluated: [(target: UInt64, policy: GatePolicy, admission: GateEvaluator.Admission)] = []
    /// The target of the previous task, which is usually also the next one's.
    private var latest: TargetState?

    init(
        paths: any PathSource, timers: any TimerQueue,
        deliver: @escaping @Sendable (_ target: UInt64, Event) -> Void
    ) {
        self.paths = paths
        self.timers = timers
        self.deliver = deliver
    }

    func target(_ number: UInt64) -> TargetState? { self.targetsByNumber[number] }

    /// Ends every watch.
    func stop() {
        for state in self.targetsByNumber.values { state.watch?.cancel() }
    }

    // MARK: - Tasks

    /// Attaches a task to the target of its current hop.
    func attach(_ task: UInt64, _ gate: inout GateState, to target: Target) -> TargetState {
        if let state = gate.target {
            if state.target == target { return state }
            self.detach(task, &gate)
        }
        let state = self.state(of: target)
        state.tasks[task] = task
        self.cancel(.close, of: state)
        gate.target = state
        return state
    }

    /// The task no longer needs its target.
    func detach(_ task: UInt64, _ gate: inout GateState) {
        guard let state = gate.target else { return }
        state.tasks[task] = nil
        if gate.isListed {
            state.awaitingVerdict.remove(task)
            state.waiting.remove(task)
            state.name.stopWaiting(task)
            gate.isListed = false
        }
        gate.target = nil
        if state.tasks.isEmpty { self.schedule(.close, of: state, after: PathGate.idleTime) }
    }

    private func state(of target: Target) -> TargetState {
        if let latest, latest.target == target { return latest }
        let state = self.targets[target] ?? self.makeTargetState(target)
        self.latest = state
        return state
    }

    private func makeTargetState(_ target: Target) -> TargetState {
        self.lastNumber += 1
        let number = self.lastNumber
        let state = TargetState(number: number, target: target)
        self.targets[target] = state
        self.targetsByNumber[number] = state
        let known = self.paths.current(target)
        if known.verdict.level != .unknown { state.update(known) }
        let deliver = self.deliver
        state.watch = self.paths.watch(target) { deliver(number, .verdict($0)) }
        if state.known == nil { self.schedule(.firstVerdict, of: state, after: PathGate.firstVerdictTime) }
        return state
    }

    private func close(_ state: TargetState) {
        guard state.tasks.isEmpty else { return }
        state.watch?.cancel()
        for timer in PathTimer.allCases { self.cancel(timer, of: state) }
        self.targets[state.target] = nil
        if self.latest === state { self.latest = nil }
        self.targetsByNumber[state.number] = nil
    }

    // MARK: - Waiting

    /// Whether the gate is open for a task with this policy.
    ///
    /// The watch of a target also reports when the internet checks of its family change their result, so that a task
    /// that waits for `online` is evaluated again then.
    func evaluate(_ policy: GatePolicy, at state: TargetState) -> GateEvaluator.Admission {
        if policy.isOpen || (policy.requiresRouteOnly && state.hasRoute) { return .open }
        guard let verdict = state.verdict else { return .open }
        let known = self.evaluated.first { $0.target == state.number && $0.policy.require == policy.require }
        if let known { return known.admission }
        let paths = self.paths
        let admission = GateEvaluator.evaluate(
            policy.require, target: verdict, hint: state.lastInterface,
            isInterface: { paths.isInterface($0, of: $1) }, family: { paths.family($0) })
        self.evaluated.append((state.number, policy, admission))
        return admission
    }

    /// The input is handled: another one may find other gates.
    func inputEnded() { if !self.evaluated.isEmpty { self.evaluated = [] } }

    /// The task waits for the target's first verdict.
    func awaitVerdict(_ task: UInt64, _ gate: inout GateState, at state: TargetState) {
        gate.isListed = true
        state.awaitingVerdict.append(task)
    }

    /// The task waits until the gate opens.
    func wait(
        _ task: UInt64, _ gate: inout GateState, at state: TargetState, for shut: GateEvaluator.Shut, now: MonotonicTime
    ) {
        gate.shut = shut
        if gate.waitBegan == nil { gate.waitBegan = now }
        gate.isListed = true
        state.waiting.append(task)
    }

    /// The task left its gate; returns how to report that, or nil if there is nothing to report.
    func leave(
        _ task: UInt64, _ gate: inout GateState, _ result: TaskEvent.GateResult, now: MonotonicTime
    ) -> TaskEvent.Kind? {
        let began = gate.waitBegan
        gate.waitBegan = nil
        if began != nil { gate.target?.waiting.remove(task) }
        switch result {
        case .immediate, .delayed: if gate.wasReported { return nil }
        case .timeout, .cancelled: if began == nil { return nil }
        }
        gate.wasReported = true
        return .gate(result, waited: began.map { now - $0 } ?? .zero)
    }

    // MARK: - Paths

    /// How the path of a connection has changed.
    func change(from used: NetworkPath?, local: IPAddress?, remote: IPAddress?, at state: TargetState) -> PathChange {
        let verdict = state.verdict(for: remote)
        if let local, !self.paths.holdsAddress(local) { return .moved }
        guard verdict.level != .unknown else { return .none }
        guard verdict.level >= .routed else { return .down }
        if let used, let path = verdict.path, !used.isSamePath(as: path) { return .moved }
        return .back
    }

    // MARK: - Timers

    func schedule(_ timer: PathTimer, of state: TargetState, after delay: Duration) {
        guard state.timers[timer] == nil else { return }
        state.timers[timer] = self.timers.schedule(after: delay, token: SessionTimer.target(state.number, timer).token)
    }

    func cancel(_ timer: PathTimer, of state: TargetState) {
        guard !state.timers.isEmpty else { return }
        if let old = state.timers.removeValue(forKey: timer) { self.timers.cancel(old) }
    }

    /// The target was silent for too long, or has no task any more.
    func timerFired(_ timer: PathTimer, of state: TargetState) {
        switch timer {
        case .firstVerdict:
            if state.known == nil { state.update(TargetVerdict(target: state.target, verdict: .unknown)) }
        case .close: self.close(state)
        case .canary: break
        }
    }

    /// The addresses that an attempt goes to; nil while the resolver must be asked.
    func addresses(of state: TargetState, at now: MonotonicTime) -> [IPAddress]? {
        if let literal = state.name.literal { return literal }
        if !state.name.isVerdictOutdated {
            // The verdict was about these addresses; another answer could lead to one without a path.
            let reachable = self.paths.current(state.target).addresses.filter { $0.verdict.level >= .routed }
            if !reachable.isEmpty { return state.name.silentLast(reachable.map(\.address), at: now) }
        }
        return state.name.addresses(at: now).map { state.name.silentLast($0, at: now) }
    }

    /// The task waits for the addresses of its target's name; returns the lookup if it was not started yet.
    func awaitAddresses(_ task: UInt64, _ gate: inout GateState, of state: TargetState) -> SessionEffect? {
        gate.isListed = true
        return state.name.wait(task) ? self.lookUp(state) : nil
    }

    private func lookUp(_ state: TargetState) -> SessionEffect {
        .resolve(state.target.host, target: state.number, lookup: state.name.begin())
    }

    /// A new connection pool begins: addresses and paths of the old network no longer count.
    func networkChanged() -> [SessionEffect] {
        var effects = [SessionEffect.forgetNames]
        for state in self.targetsByNumber.values {
            state.pooled.forget()
            if state.name.networkChanged() { effects.append(self.lookUp(state)) }
        }
        return effects
    }
}

/// What the path gate keeps in each task's record.
struct GateState {
    /// The target of the current hop; nil before the first attempt.
    var target: TargetState?
    /// True once the task was in one of the target's lists.
    var isListed = false
    /// When the task began to wait for its path; nil while it does not.
    var waitBegan: MonotonicTime?
    /// True once it was published how the task left its gate, for this attempt.
    var wasReported = false
    /// Why the gate is shut; nil while it is open.
    @Rare var shut: GateEvaluator.Shut? = nil
}
