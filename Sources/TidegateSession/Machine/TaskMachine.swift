internal import TidegateCore

/// A task's activity, and the consequences of its inputs: the suspend count, the holds and the phase.
///
/// Users change the count, the system changes the holds; a task may run if the count is 0 and it has no holds.
struct TaskMachine: Sendable {
    enum Phase: Sendable, Hashable {
        /// There is no attempt, and none may start.
        case idle
        /// Nothing prevents an attempt; the gate and the connection limiter decide next.
        case seeking
        /// An attempt is running.
        case running
        /// An attempt is running, and the user has suspended the task.
        case paused
        /// An attempt has returned a response, and a hook decides what follows.
        case deciding
        /// All bytes have arrived; the file is being committed.
        case finishing
        /// All bytes have arrived, but the file cannot be committed yet.
        case parked
        /// The task has ended.
        case ended(TaskOutcome)
    }

    enum Input: Sendable, Hashable {
        case resume
        case suspend(TaskEvent.SuspendReason)
        case cancel
        case hold(HoldReason, detail: String?)
        case release(HoldReason)
        /// The gate and the limiter admit the task.
        case admit
        /// The suspension lasted too long, or the attempt cannot be paused.
        case releaseConnection
        /// The attempt's path is lost, and the gate is shut.
        case losePath(detail: String?)
        /// The attempt's path is lost, but there is another one.
        case changePath
        /// The attempt has ended, and another one follows immediately.
        case attemptLeads
        /// The attempt failed, and another one follows after a delay or when the system permits it.
        case attemptHolds(HoldReason, detail: String?)
        /// The attempt has ended, and a hook decides what follows.
        case attemptAsks
        /// The hook decided in favour of another attempt.
        case decided
        /// The attempt received everything.
        case attemptCompletes(needsCommit: Bool)
        /// The commit of the file succeeded or failed.
        case committed(isGood: Bool)
        /// The file cannot be committed until the system permits it: a complete file waits, any other one is fetched
        /// again.
        case commitHolds(HoldReason, detail: String?, isWhole: Bool)
        /// The received body is not the requested one: another attempt follows immediately.
        case commitLeads
        /// The task fails.
        case fail
        /// An earlier process had already finished.
        case foundDone
    }

    /// A report to publish.
    enum Report: Sendable, Hashable {
        case resumed
        case suspended(TaskEvent.SuspendReason)
        case held(HoldReason, detail: String?)
        case released(HoldReason, after: Duration)
        case attemptStarted(Int)
    }

    /// Why an attempt is abandoned.
    enum DetachCause: Sendable, Hashable {
        case suspended, pathLost, ended
    }

    enum Effect: Sendable, Hashable {
        case report(Report)
        /// Query the gate and the limiter; the answer is `hold` or `admit`.
        case seek
        case stopSeeking
        case start(attempt: Int)
        case pause
        case unpause
        case detach(DetachCause)
        case commit
        case abandonCommit
        /// The last effect of all.
        case end(TaskOutcome)
    }

    private(set) var phase = Phase.idle
    private(set) var suspendCount = 1
    private(set) var attempts = 0
    /// The total duration of ended holds by kind.
    private(set) var heldTotals: [HoldReason: Duration] = [:]
    private var holds: [(reason: HoldReason, detail: String?, since: MonotonicTime)] = []

    var isSuspended: Bool { self.suspendCount > 0 }

    var isOver: Bool { if case .ended = self.phase { true } else { false } }

    /// True while the task depends on a running attempt.
    var isOnWire: Bool { self.phase == .running || self.phase == .paused }

    var isHeld: Bool { !self.holds.isEmpty }

    var heldReasons: [HoldReason] { self.holds.map { $0.reason } }

    /// True while the task waits for a path.
    var waitsAtGate: Bool { self.isHeld && (self.isHeld(for: .path) || self.isHeld(for: .constraint)) }

    func isHeld(for reason: HoldReason) -> Bool { self.holds.contains { $0.reason == reason } }

    /// The published state.
    var state: TaskState {
        switch self.phase {
        case .ended(let outcome): return .completed(outcome)
        case .idle, .seeking, .running, .paused, .deciding, .finishing, .parked:
            if self.isSuspended, self.phase != .finishing { return .suspended }
            if let hold = self.holds.first { return .waiting(hold.reason, detail: hold.detail) }
            return .running(attempt: max(1, self.phase == .seeking ? self.attempts + 1 : self.attempts))
        }
    }

    /// Handles an input, and appends its effects: one queue serves every task.
    mutating func handle(_ input: Input, at now: MonotonicTime, _ effects: inout ReusedQueue<Effect>) {
        switch input {
        case .resume: self.resume(&effects)
        case .suspend(let reason): self.suspend(reason, &effects)
        case .cancel: self.end(.cancelled, at: now, &effects)
        case .hold(let reason, let detail): self.hold(reason, detail, at: now, &effects)
        case .release(let reason): self.release(reason, at: now, &effects)
        case .admit:
            guard self.phase == .seeking else { return }
            self.phase = .running
            self.attempts += 1
            effects.append(.report(.attemptStarted(self.attempts)))
            effects.append(.start(attempt: self.attempts))
        case .releaseConnection:
            guard self.phase == .paused else { return }
            self.phase = .idle
            effects.append(.detach(.suspended))
        case .losePath(let detail): if self.isOnWire { self.hold(.path, detail, at: now, &effects) }
        case .changePath:
            if self.isOnWire { effects.append(.detach(.pathLost)) }
            self.goOn(if: self.isOnWire, &effects)
        case .attemptLeads: self.goOn(if: self.isOnWire, &effects)
        case .attemptHolds(let reason, let detail):
            guard self.isOnWire else { return }
            self.phase = .idle
            self.add(reason, detail, at: now, &effects)
        case .attemptAsks: if self.isOnWire { self.phase = .deciding }
        case .decided: self.goOn(if: self.phase == .deciding, &effects)
        case .attemptCompletes(let needsCommit):
            guard self.isOnWire else { return }
            self.phase = .finishing
            if needsCommit { effects.append(.commit) } else { self.close(.success, at: now, &effects) }
        case .committed(let isGood):
            if self.phase == .finishing { self.close(isGood ? .success : .failure, at: now, &effects) }
        case .commitHolds(let reason, let detail, let isWhole):
            guard self.phase == .finishing else { return }
            self.phase = isWhole ? .parked : .idle
            self.add(reason, detail, at: now, &effects)
        case .commitLeads: self.goOn(if: self.phase == .finishing, &effects)
        // A clock does not stop a running commit: the file would exist although the task reports a failure.
        case .fail: if self.phase != .finishing { self.end(.failure, at: now, &effects) }
        case .foundDone: self.end(.success, at: now, &effects)
        }
    }

    // MARK: - Users

    private mutating func resume(_ effects: inout ReusedQueue<Effect>) {
        guard !self.isOver, self.suspendCount > 0 else { return }
        self.suspendCount -= 1
        guard self.suspendCount == 0 else { return }
        effects.append(.report(.resumed))
        switch self.phase {
        case .idle, .parked: self.continueIfRunnable(&effects)
        case .paused:
            self.phase = .running
            effects.append(.unpause)
        case .seeking, .running, .deciding, .finishing, .ended: break
        }
    }

    private mutating func suspend(_ reason: TaskEvent.SuspendReason, _ effects: inout ReusedQueue<Effect>) {
        guard !self.isOver else { return }
        self.suspendCount += 1
        guard self.suspendCount == 1 else { return }
        switch self.phase {
        case .seeking:
            self.phase = .idle
            effects.append(.stopSeeking)
            effects.append(.report(.suspended(reason)))
        case .running:
            self.phase = .paused
            effects.append(.report(.suspended(reason)))
            effects.append(.pause)
        case .idle, .paused, .deciding, .finishing, .parked, .ended: effects.append(.report(.suspended(reason)))
        }
    }

    // MARK: - Holds

    private mutating func hold(
        _ reason: HoldReason, _ detail: String?, at now: MonotonicTime, _ effects: inout ReusedQueue<Effect>
    ) {
        switch self.phase {
        case .idle, .deciding, .parked: break
        case .seeking:
            self.phase = .idle
            effects.append(.stopSeeking)
        case .running, .paused:
            self.phase = .idle
            effects.append(.detach(.pathLost))
        case .finishing, .ended: return
        }
        self.add(reason, detail, at: now, &effects)
    }

    private mutating func add(
        _ reason: HoldReason, _ detail: String?, at now: MonotonicTime, _ effects: inout ReusedQueue<Effect>
    ) {
        guard !self.isHeld(for: reason) else { return }
        self.holds.append((reason, detail, now))
        effects.append(.report(.held(reason, detail: detail)))
    }

    private mutating func release(_ reason: HoldReason, at now: MonotonicTime, _ effects: inout ReusedQueue<Effect>) {
        guard !self.isOver, let position = self.holds.firstIndex(where: { $0.reason == reason }) else { return }
        let after = now - self.holds.remove(at: position).since
        self.heldTotals[reason, default: .zero] += after
        effects.append(.report(.released(reason, after: after)))
        self.continueIfRunnable(&effects)
    }

    private mutating func continueIfRunnable(_ effects: inout ReusedQueue<Effect>) {
        guard self.suspendCount == 0, self.holds.isEmpty else { return }
        switch self.phase {
        case .idle:
            self.phase = .seeking
            effects.append(.seek)
        case .parked:
            self.phase = .finishing
            effects.append(.commit)
        case .seeking, .running, .paused, .deciding, .finishing, .ended: break
        }
    }

    // MARK: - Attempts

    // Starts the task again as soon as it may run, if its activity has ended.
    private mutating func goOn(if isOver: Bool, _ effects: inout ReusedQueue<Effect>) {
        guard isOver else { return }
        self.phase = .idle
        self.continueIfRunnable(&effects)
    }

    // MARK: - The end

    private mutating func end(_ outcome: TaskOutcome, at now: MonotonicTime, _ effects: inout ReusedQueue<Effect>) {
        switch self.phase {
        case .ended: return
        case .idle, .deciding, .parked: break
        case .seeking: effects.append(.stopSeeking)
        case .running, .paused: effects.append(.detach(.ended))
        case .finishing: effects.append(.abandonCommit)
        }
        self.close(outcome, at: now, &effects)
    }

    private mutating func close(_ outcome: TaskOutcome, at now: MonotonicTime, _ effects: inout ReusedQueue<Effect>) {
        for hold in self.holds {
            let after = now - hold.since
            self.heldTotals[hold.reason, default: .zero] += after
            effects.append(.report(.released(hold.reason, after: after)))
        }
        self.holds = []
        self.phase = .ended(outcome)
        effects.append(.end(outcome))
    }
}
