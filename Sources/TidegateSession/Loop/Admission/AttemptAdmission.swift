internal import TidegateCore

/// Decides which tasks may use a connection, and in which order they start after an outage.
struct AttemptAdmission {
    let gates: PathGate
    let random: RandomSource
    var limiter: ConnectionLimiter
    /// True once the session is being invalidated: no attempt starts any more.
    var isDraining = false

    // MARK: - Connections

    /// Takes a connection for the task; false if none is free, in which case the task waits for one.
    mutating func join(_ record: TaskRecord) -> Bool {
        if !record.attempt.hasConnection {
            record.attempt.hasConnection = self.limiter.join(
                record.number, record.origin, priority: record.request.options.priority)
        }
        return record.attempt.hasConnection
    }

    mutating func releaseConnection(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard record.attempt.hasConnection else { return }
        record.attempt.hasConnection = false
        self.limiter.leave(record.origin)
        while let number = self.limiter.next() {
            guard let next = tasks[number] else { continue }
            tasks.feed(.release(.concurrency), to: next)
            next.attempt.hasConnection = next.machine.phase == .seeking
            // Suspended or held in the meantime: another task gets the connection.
            if !next.attempt.hasConnection { self.limiter.leave(next.origin) }
        }
    }

    // MARK: - Open gates

    /// Handles the opening of a target's gate: one task goes first, and the others follow, spread over a time that
    /// grows with their number.
    func release(_ records: [TaskRecord], from state: TargetState, _ tasks: inout SessionTasks) {
        guard !records.isEmpty else { return }
        let ordered = records.sorted { $0.request.options.priority > $1.request.options.priority }
        let numbers = ordered.map(\.number)
        for number in numbers { state.waiting.remove(number) }
        for number in state.canary.release(numbers) {
            guard let record = tasks[number], !record.machine.isHeld(for: .schedule) else { continue }
            tasks.feed(.hold(.schedule, detail: "spread after an outage"), to: record)
            state.canary.follow(number)
        }
        if state.canary.isWaitedFor() { self.gates.schedule(.canary, of: state, after: .seconds(1)) }
        for record in ordered {
            for reason in [HoldReason.path, .constraint] where record.machine.isHeld(for: reason) {
                tasks.feed(.release(reason), to: record)
            }
        }
    }

    // MARK: - Canary

    // Releases the others after the canary has succeeded, each after a random delay.
    private func releaseFollowers(of state: TargetState, _ tasks: inout SessionTasks) {
        let followers = state.canary.finish()
        self.gates.cancel(.canary, of: state)
        guard !followers.isEmpty else { return }
        for (number, delay) in zip(followers, self.random.staggeredDelays(followers.count)) {
            guard let record = tasks[number], record.machine.isHeld(for: .schedule) else { continue }
            tasks.schedule(.schedule, of: record, after: delay)
            tasks.updateTimer(record)
        }
    }

    /// Handles the canary's connection.
    func connected(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let state = record.target, state.canary.leader == record.number else { return }
        self.releaseFollowers(of: state, &tasks)
    }

    /// Handles the end of an attempt.
    ///
    /// If it was a canary's and had no connection, another task goes first after a wait that grows each time.
    func attemptEnded(_ end: AttemptEnd, _ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let state = record.target, state.canary.leader == record.number else { return }
        guard end.failure != nil, !end.reachedWire, !state.canary.followers.isEmpty else {
            return self.releaseFollowers(of: state, &tasks)
        }
        let bound = state.canary.leaderFailed()
        let delay = self.random.draw { Backoff.random(upTo: bound, using: &$0) }
        self.gates.cancel(.canary, of: state)
        self.gates.schedule(.canary, of: state, after: max(.milliseconds(50), delay))
    }

    /// Handles a canary that has taken too long, or the turn of the next one.
    func canaryDue(of state: TargetState, _ tasks: inout SessionTasks) {
        guard state.canary.isBetweenLeaders else { return self.releaseFollowers(of: state, &tasks) }
        while let number = state.canary.nextFollower() {
            guard let record = tasks[number] else { continue }
            guard record.machine.isHeld(for: .schedule), !record.machine.isSuspended else {
                tasks.feed(.release(.schedule), to: record)
                continue
            }
            state.canary.lead(number)
            self.gates.schedule(.canary, of: state, after: .seconds(1))
            return tasks.feed(.release(.schedule), to: record)
        }
        self.releaseFollowers(of: state, &tasks)
    }
}
