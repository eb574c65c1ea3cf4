internal import TidegateCore

/// Measures time only while it runs.
struct Stopwatch: Sendable, Hashable {
    private var elapsed = Duration.zero
    private var since: MonotonicTime?

    /// Adopts a reading of an earlier process; the stopwatch must not be running yet.
    mutating func restore(_ elapsed: Duration) { self.elapsed = elapsed }

    mutating func run(_ isRunning: Bool, at now: MonotonicTime) {
        if isRunning {
            if self.since == nil { self.since = now }
        } else if let since = self.since {
            self.elapsed += now - since
            self.since = nil
        }
    }

    /// Resets to 0; continues to run if it was running.
    ///
    /// It never runs backwards: a moment before the last start changes nothing.
    mutating func reset(at now: MonotonicTime) {
        if let since = self.since, now < since { return }
        self.elapsed = .zero
        if self.since != nil { self.since = now }
    }

    func reading(at now: MonotonicTime) -> Duration { self.elapsed + (self.since.map { now - $0 } ?? .zero) }

    /// When the reading will reach `limit`; nil if it is not running.
    func due(at limit: Duration) -> MonotonicTime? { self.since.map { $0 + (limit - self.elapsed) } }
}

/// All clocks of one task, with the rules for stopping each; a single timer serves them all.
struct TaskClocks: Sendable {
    enum Clock: Sendable, Hashable, CaseIterable {
        case deadline, patience, idle, attempt, pause, backoff, schedule, grace, silence, redirect, speed
        case circuit, disk, descriptors, budget, expiry
    }

    struct Limits: Sendable {
        var idle = Duration.seconds(60)
        var attempt: Duration?
        var deadline: Duration?
        var patience: Duration?
    }

    /// The inputs that decide which clocks run.
    struct Inputs: Sendable, Hashable {
        var isSuspended = true
        var isHeld = false
        var waitsAtGate = false
        var isOnWire = false
        var isInGrace = false
        var isOver = false
    }

    /// Shared by reference, because every task of a request has the same limits.
    let limits: Indirect<Limits>
    private var active = Stopwatch()
    private var life = Stopwatch()
    private var gate = Stopwatch()
    private var idle = Stopwatch()
    private var attempt = Stopwatch()
    /// Clocks that were scheduled for a single event.
    private var scheduled: [(clock: Clock, at: MonotonicTime)] = []

    init(limits: Indirect<Limits>) { self.limits = limits }

    /// Adopts the times of an earlier process: how long the task lived, was active, and waited at its gate.
    mutating func restore(lived: Duration, active: Duration, waited: Duration) {
        self.life.restore(lived)
        self.active.restore(active)
        self.gate.restore(waited)
    }

    /// Starts and stops the clocks.
    mutating func follow(_ inputs: Inputs, at now: MonotonicTime) {
        let isAwake = !inputs.isSuspended && !inputs.isOver
        self.life.run(isAwake, at: now)
        self.active.run(isAwake && !inputs.isHeld, at: now)
        self.gate.run(isAwake && inputs.waitsAtGate, at: now)
        let moves = isAwake && inputs.isOnWire && !inputs.isInGrace
        self.idle.run(moves, at: now)
        self.attempt.run(moves, at: now)
    }

    mutating func attemptStarted(at now: MonotonicTime) {
        self.idle.reset(at: now)
        self.attempt.reset(at: now)
    }

    /// Removes the moments scheduled for the attempt.
    mutating func attemptEnded() {
        guard !self.scheduled.isEmpty else { return }
        self.scheduled.removeAll { [.pause, .grace, .silence, .redirect, .speed].contains($0.clock) }
    }

    /// Records that bytes moved; a moment before the last known one changes nothing.
    mutating func bytesMoved(at moment: MonotonicTime) { self.idle.reset(at: moment) }

    /// Schedules a moment, which replaces an older one of the same clock.
    mutating func schedule(_ clock: Clock, at moment: MonotonicTime) {
        self.cancel(clock)
        self.scheduled.append((clock, moment))
    }

    mutating func cancel(_ clock: Clock) {
        if self.isScheduled(clock) { self.scheduled.removeAll { $0.clock == clock } }
    }

    mutating func stop() { self.scheduled = [] }

    func isScheduled(_ clock: Clock) -> Bool { self.scheduled.contains { $0.clock == clock } }

    // Mutating, like the ones below, because reading would otherwise copy the clocks of a record.
    mutating func activeTime(at now: MonotonicTime) -> Duration { self.active.reading(at: now) }

    func lifetime(at now: MonotonicTime) -> Duration { self.life.reading(at: now) }

    /// How long the task waited at its gate.
    func waitedTime(at now: MonotonicTime) -> Duration { self.gate.reading(at: now) }

    /// When a clock is due; nil if it is stopped or has no limit.
    func due(_ clock: Clock) -> MonotonicTime? {
        switch clock {
        case .deadline: self.limits.value.deadline.flatMap(self.life.due)
        case .patience: self.limits.value.patience.flatMap(self.gate.due)
        case .idle: self.idle.due(at: self.limits.value.idle)
        case .attempt: self.limits.value.attempt.flatMap(self.attempt.due)
        case .pause, .backoff, .schedule, .grace, .silence, .redirect, .speed, .circuit, .disk, .descriptors, .budget,
            .expiry:
            self.scheduled.first { $0.clock == clock }?.at
        }
    }

    /// The next moment at which a clock is due.
    mutating func nextDue() -> MonotonicTime? {
        var next: MonotonicTime?
        func consider(_ due: MonotonicTime?) {
            guard let due else { return }
            next = next.map { min($0, due) } ?? due
        }
        consider(self.due(.deadline))
        consider(self.due(.patience))
        consider(self.due(.idle))
        consider(self.due(.attempt))
        for entry in self.scheduled { consider(entry.at) }
        return next
    }

    /// The clocks that are due at `now`; removes the scheduled ones among them.
    mutating func takeDue(at now: MonotonicTime) -> [Clock] {
        let due = Clock.allCases.filter { clock in self.due(clock).map { $0 <= now } ?? false }
        self.scheduled.removeAll { $0.at <= now }
        return due
    }
}
