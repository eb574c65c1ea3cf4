internal import TidegateCore

/// The gate at which attempts wait for a path: one watch per target for any number of waiting tasks.
///
/// A gate delays and never forbids: a path source that stays silent or cannot see opens every gate.
final class PathGate {
    /// Reports of other threads.
    enum Event: Sendable {
        /// The watch of a target has a new verdict.
        case verdict(TargetVerdict)
        /// A name was resolved, or could not be.
        case resolved(lookup: Int, Result<[IPAddress], ResolveFailure>)
        /// The requirement `online`, asked again for a task, has a new answer.
        case confirmed(task: UInt64)
    }

    /// How the path of a running attempt has changed.
    enum PathChange {
        case none
        /// The source address is gone, or packets take another path.
        case moved
        /// Packets cannot leave now, but the source address still exists.
        case down
        /// The path is the same as before.
        case back
    }

    /// How long an unused target is kept, because its next task may come soon.
    private static let idleTime = Duration.seconds(60)
    /// How long a path source may take for its first verdict.
    private static let firstVerdictTime = Duration.seconds(1)

    let paths: any PathSource
    private let timers: any TimerQueue
    private let deliver: @Sendable (_ target: UInt64, Event) -> Void
    private var targets: [Target: TargetState] = [:]
    private var targetsByNumber: [UInt64: TargetState] = [:]
    private var lastNumber: UInt64 = 0
    /// The results of gate evaluations for the current input.
    private var evaluated: [(target: UInt64, policy: GatePolicy, admission: GateEvaluator.Admission)] = []
    /// The previous task's target, which is usually the next one's as well.
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

    /// Detaches a task that no longer needs its target.
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
    /// The watch of a target also reports changed internet checks of its family, so that a task waiting for `online` is
    /// evaluated again.
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

    /// Clears the results at the end of an input, because the next one may change gates.
    func inputEnded() { if !self.evaluated.isEmpty { self.evaluated = [] } }

    /// Adds a task that waits for the target's first verdict.
    func awaitVerdict(_ task: UInt64, _ gate: inout GateState, at state: TargetState) {
        gate.isListed = true
        state.awaitingVerdict.append(task)
    }

    /// Adds a task that waits until the gate opens.
    func wait(
        _ task: UInt64, _ gate: inout GateState, at state: TargetState, for shut: GateEvaluator.Shut, now: MonotonicTime
    ) {
        gate.shut = shut
        if gate.waitBegan == nil { gate.waitBegan = now }
        gate.isListed = true
        state.waiting.append(task)
    }

    /// Asks again for a task whether its target's family is online.
    func confirm(_ task: UInt64, at state: TargetState) {
        let (deliver, number) = (self.deliver, state.number)
        self.paths.confirmInternet(over: state.verdict?.family ?? .ipv4) { deliver(number, .confirmed(task: task)) }
    }

    /// Removes a task from its gate; returns how to report that, or nil if there is nothing to report.
    func leave(
        _ task: UInt64, _ gate: inout GateState, _ result: TaskEvent.GateResult, now: MonotonicTime
    ) -> TaskEvent.Kind? {
        let began = gate.waitBegan.take()
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

    /// Handles a target that was silent for too long or has no task any more.
    func timerFired(_ timer: PathTimer, of state: TargetState) {
        switch timer {
        case .firstVerdict:
            if state.known == nil { state.update(TargetVerdict(target: state.target, verdict: .unknown)) }
        case .close: self.close(state)
        case .canary: break
        }
    }

    /// The addresses for an attempt; nil while they must be looked up.
    func addresses(of state: TargetState, at now: MonotonicTime) -> [IPAddress]? {
        if let literal = state.name.literal { return literal }
        if !state.name.isVerdictOutdated {
            // The verdict is about these addresses; another answer could lead to one without a path.
            let reachable = self.paths.current(state.target).addresses.filter { $0.verdict.level >= .routed }
            if !reachable.isEmpty { return state.name.silentLast(reachable.map(\.address), at: now) }
        }
        return state.name.addresses(at: now).map { state.name.silentLast($0, at: now) }
    }

    /// Adds a task that waits for the addresses of its target's name; returns the lookup to start, if any.
    func awaitAddresses(_ task: UInt64, _ gate: inout GateState, of state: TargetState) -> SessionEffect? {
        gate.isListed = true
        return state.name.wait(task) ? self.lookUp(state) : nil
    }

    private func lookUp(_ state: TargetState) -> SessionEffect {
        .resolve(state.target.host, target: state.number, lookup: state.name.begin())
    }

    /// Handles a new connection pool: addresses and paths of the old network no longer count.
    func networkChanged() -> [SessionEffect] {
        var effects = [SessionEffect.forgetNames]
        for state in self.targetsByNumber.values {
            state.pooled.forget()
            if state.name.networkChanged() { effects.append(self.lookUp(state)) }
        }
        return effects
    }
}

/// The path gate's state in each task's record.
struct GateState {
    /// The target of the current hop; nil before the first attempt.
    var target: TargetState?
    /// True if the task may be in one of the target's lists.
    var isListed = false
    /// When the task began to wait for its path; nil if it is not waiting.
    var waitBegan: MonotonicTime?
    /// True if the task's leaving of the gate has been published for this attempt.
    var wasReported = false
    /// True if the requirement `online` was asked again since the last attempt began.
    var isConfirmed = false
    /// Why the gate is shut; nil while it is open.
    @Rare var shut: GateEvaluator.Shut? = nil
}
