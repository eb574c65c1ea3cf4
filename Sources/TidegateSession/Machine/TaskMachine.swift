internal import TidegateCore

/// What a task is doing, and what follows from what happens to it: the suspend count, the holds and the phase.
///
/// Users move the count, the system moves the holds; a task may run when the count is 0 and nothing holds it.
struct TaskMachine: Sendable {
    private struct Hold {
        let reason: HoldReason
        let detail: String?
        let since: MonotonicTime
    }

    private(set) var phase = Phase.idle
    private(set) var suspendCount = 1
    private(set) var attempts = 0
    /// How long each kind of hold that has ended lasted in all.
    private(set) var heldTotals: [HoldReason: Duration] = [:]
    private var holds: [Hold] = []

    var isSuspended: Bool { self.suspendCount > 0 }

    var isOver: Bool { if case .ended = self.phase { true } else { false } }

    var isHeld: Bool { !self.holds.isEmpty }

    var heldReasons: [HoldReason] { self.holds.map(\.reason) }

    func isHeld(for reason: HoldReason) -> Bool { self.holds.contains { $0.reason == reason } }

    /// The state that is published.
    var state: TaskState {
        switch self.phase {
        case .ended(let outcome): return .completed(outcome)
        case .idle, .seeking, .running, .paused, .deciding, .finishing, .parked:
            if self.isSuspended, self.phase != .finishing { return .suspended }
            if let hold = self.holds.first { return .waiting(hold.reason, detail: hold.detail) }
            return .running(attempt: max(1, self.phase == .seeking ? self.attempts + 1 : self.attempts))
        }
    }

    mutating func handle(_ input: Input, at now: MonotonicTime) -> [Effect] {
        switch input {
        case .resume: self.resume()
        case .suspend(let reason): self.suspend(reason)
        case .cancel: self.end(.cancelled, at: now)
        case .hold(let reason, let detail): self.hold(reason, detail, at: now)
        case .release(let reason): self.release(reason, at: now)
        case .admit: self.admit()
        case .releaseConnection: self.releaseConnection()
        case .losePath(let detail): self.losePath(detail, at: now)
        case .changePath: self.changePath()
        case .attemptLeads: self.leaveAttempt()
        case .attemptBacksOff: self.leaveAttempt(holding: .backoff, at: now)
        case .attemptHolds(let reason, let detail): self.leaveAttempt(holding: reason, detail, at: now)
        case .attemptAsks: self.ask()
        case .decided: self.decide()
        case .attemptCompletes(let needsCommit): self.complete(needsCommit: needsCommit, at: now)
        case .committed(let isGood): self.committed(isGood: isGood, at: now)
        case .commitHolds(let reason, let detail, let isWhole): self.park(reason, detail, isWhole: isWhole, at: now)
        case .commitLeads: self.fetchAgain()
        case .fail: self.fail(at: now)
        case .foundDone: self.end(.success, at: now)
        }
    }

    // MARK: - Users

    private mutating func resume() -> [Effect] {
        guard !self.isOver, self.suspendCount > 0 else { return [] }
        self.suspendCount -= 1
        guard self.suspendCount == 0 else { return [] }
        switch self.phase {
        case .idle, .parked: return [.report(.resumed)] + self.continueIfRunnable()
        case .paused:
            self.phase = .running
            return [.report(.resumed), .unpause]
        case .seeking, .running, .deciding, .finishing, .ended: return [.report(.resumed)]
        }
    }

    private mutating func suspend(_ reason: TaskEvent.SuspendReason) -> [Effect] {
        guard !self.isOver else { return [] }
        self.suspendCount += 1
        guard self.suspendCount == 1 else { return [] }
        switch self.phase {
        case .seeking:
            self.phase = .idle
            return [.stopSeeking, .report(.suspended(reason))]
        case .running:
            self.phase = .paused
            return [.report(.suspended(reason)), .pause]
        case .idle, .paused, .deciding, .finishing, .parked, .ended: return [.report(.suspended(reason))]
        }
    }

    // MARK: - Holds

    private mutating func hold(_ reason: HoldReason, _ detail: String?, at now: MonotonicTime) -> [Effect] {
        switch self.phase {
        case .idle, .deciding, .parked: return self.add(reason, detail, at: now)
        case .seeking:
            self.phase = .idle
            return [.stopSeeking] + self.add(reason, detail, at: now)
        case .running, .paused:
            self.phase = .idle
            return [.detach(.pathLost)] + self.add(reason, detail, at: now)
        case .finishing, .ended: return []
        }
    }

    private mutating func add(_ reason: HoldReason, _ detail: String?, at now: MonotonicTime) -> [Effect] {
        guard !self.isHeld(for: reason) else { return [] }
        self.holds.append(Hold(reason: reason, detail: detail, since: now))
        return [.report(.held(reason, detail: detail))]
    }

    private mutating func release(_ reason: HoldReason, at now: MonotonicTime) -> [Effect] {
        guard !self.isOver, let position = self.holds.firstIndex(where: { $0.reason == reason }) else { return [] }
        let after = now - self.holds.remove(at: position).since
        self.heldTotals[reason, default: .zero] += after
        return [.report(.released(reason, after: after))] + self.continueIfRunnable()
    }

    private mutating func continueIfRunnable() -> [Effect] {
        guard self.suspendCount == 0, self.holds.isEmpty else { return [] }
        switch self.phase {
        case .idle:
            self.phase = .seeking
            return [.seek]
        case .parked:
            self.phase = .finishing
            return [.commit]
        case .seeking, .running, .paused, .deciding, .finishing, .ended: return []
        }
    }

    // MARK: - Attempts

    private mutating func admit() -> [Effect] {
        guard self.phase == .seeking else { return [] }
        self.phase = .running
        self.attempts += 1
        return [.report(.attemptStarted(self.attempts)), .start(attempt: self.attempts)]
    }

    private mutating func releaseConnection() -> [Effect] {
        guard self.phase == .paused else { return [] }
        self.phase = .idle
        return [.detach(.suspended)]
    }

    private mutating func losePath(_ detail: String?, at now: MonotonicTime) -> [Effect] {
        switch self.phase {
        case .running, .paused: return self.hold(.path, detail, at: now)
        case .idle, .seeking, .deciding, .finishing, .parked, .ended: return []
        }
    }

    private mutating func changePath() -> [Effect] {
        switch self.phase {
        case .running, .paused:
            self.phase = .idle
            return [.detach(.pathLost)] + self.continueIfRunnable()
        case .idle, .seeking, .deciding, .finishing, .parked, .ended: return []
        }
    }

    private mutating func leaveAttempt(
        holding reason: HoldReason? = nil, _ detail: String? = nil, at now: MonotonicTime? = nil
    ) -> [Effect] {
        guard self.phase == .running || self.phase == .paused else { return [] }
        self.phase = .idle
        if let reason, let now { return self.add(reason, detail, at: now) }
        return self.continueIfRunnable()
    }

    private mutating func ask() -> [Effect] {
        guard self.phase == .running || self.phase == .paused else { return [] }
        self.phase = .deciding
        return []
    }

    private mutating func decide() -> [Effect] {
        guard self.phase == .deciding else { return [] }
        self.phase = .idle
        return self.continueIfRunnable()
    }

    private mutating func complete(needsCommit: Bool, at now: MonotonicTime) -> [Effect] {
        guard self.phase == .running || self.phase == .paused else { return [] }
        self.phase = .finishing
        return needsCommit ? [.commit] : self.close(.success, at: now)
    }

    private mutating func committed(isGood: Bool, at now: MonotonicTime) -> [Effect] {
        guard self.phase == .finishing else { return [] }
        return self.close(isGood ? .success : .failure, at: now)
    }

    private mutating func park(
        _ reason: HoldReason, _ detail: String?, isWhole: Bool, at now: MonotonicTime
    ) -> [Effect] {
        guard self.phase == .finishing else { return [] }
        self.phase = isWhole ? .parked : .idle
        return self.add(reason, detail, at: now)
    }

    private mutating func fetchAgain() -> [Effect] {
        guard self.phase == .finishing else { return [] }
        self.phase = .idle
        return self.continueIfRunnable()
    }

    // MARK: - The end

    // A commit under way is not stopped by a clock: the file would be there, and the task would say that it is not.
    private mutating func fail(at now: MonotonicTime) -> [Effect] {
        self.phase == .finishing ? [] : self.end(.failure, at: now)
    }

    private mutating func end(_ outcome: TaskOutcome, at now: MonotonicTime) -> [Effect] {
        switch self.phase {
        case .ended: return []
        case .idle, .deciding, .parked: return self.close(outcome, at: now)
        case .seeking: return [.stopSeeking] + self.close(outcome, at: now)
        case .running, .paused: return [.detach(.ended)] + self.close(outcome, at: now)
        case .finishing: return [.abandonCommit] + self.close(outcome, at: now)
        }
    }

    private mutating func close(_ outcome: TaskOutcome, at now: MonotonicTime) -> [Effect] {
        var effects: [Effect] = []
        for hold in self.holds {
            let after = now - hold.since
            self.heldTotals[hold.reason, default: .zero] += after
            effects.append(.report(.released(hold.reason, after: after)))
        }
        self.holds = []
        self.phase = .ended(outcome)
        return effects + [.end(outcome)]
    }
}
