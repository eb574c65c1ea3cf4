internal import TidegateCore

/// Time that runs only now and then.
struct Stopwatch: Sendable, Hashable {
    private var elapsed = Duration.zero
    private var since: MonotonicTime?

    init() {}

    /// Goes on from a reading of an earlier process; for a watch that does not run yet.
    mutating func goOn(after elapsed: Duration) { self.elapsed = elapsed }

    mutating func run(_ isRunning: Bool, at now: MonotonicTime) {
        if isRunning {
            if self.since == nil { self.since = now }
        } else if let since = self.since {
            self.elapsed += now - since
            self.since = nil
        }
    }

    /// Starts from 0; goes on running where it ran.
    ///
    /// Never runs back: a moment before the last start changes nothing.
    mutating func reset(at now: MonotonicTime) {
        if let since = self.since, now < since { return }
        self.elapsed = .zero
        if self.since != nil { self.since = now }
    }

    func reading(at now: MonotonicTime) -> Duration { self.elapsed + (self.since.map { now - $0 } ?? .zero) }

    /// When the reading will be `limit`; nil while it does not run.
    func due(at limit: Duration) -> MonotonicTime? { self.since.map { $0 + (limit - self.elapsed) } }
}

/// Every clock of one task, with the rules when it stands still; one timer serves them all.
struct TaskClocks: Sendable {
    enum Clock: Sendable, Hashable, CaseIterable {
        case deadline, active, patience, idle, attempt, pause, backoff, schedule, grace, silence
        case circuit, disk, budget, expiry
    }

    /// One reference, because every task of a request has the same.
    final class Limits: Sendable {
        let idle: Duration
        let attempt: Duration?
        let active: Duration?
        let deadline: Duration?
        let patience: Duration?

        init(
            idle: Duration = .seconds(60), attempt: Duration? = nil, active: Duration? = nil,
            deadline: Duration? = nil, patience: Duration? = nil
        ) {
            self.idle = idle
            self.attempt = attempt
            self.active = active
            self.deadline = deadline
            self.patience = patience
        }
    }

    /// What decides which clocks run.
    struct Situation: Sendable, Hashable {
        var isSuspended = true
        var isHeld = false
        var waitsAtGate = false
        var isOnWire = false
        var isInGrace = false
        var isOver = false
    }

    let limits: Limits
    private var active = Stopwatch()
    private var life = Stopwatch()
    private var gate = Stopwatch()
    private var idle = Stopwatch()
    private var attempt = Stopwatch()
    private var appointments: [(clock: Clock, at: MonotonicTime)] = []

    init(limits: Limits) { self.limits = limits }

    /// The task lived in an earlier process for so long, was active for a part of it, and waited at its gate.
    mutating func goOn(after lived: Duration, active: Duration, waited: Duration) {
        self.life.goOn(after: lived)
        self.active.goOn(after: active)
        self.gate.goOn(after: waited)
    }

    /// Lets the clocks run or stand still.
    mutating func follow(_ situation: Situation, at now: MonotonicTime) {
        let isAwake = !situation.isSuspended && !situation.isOver
        self.life.run(isAwake, at: now)
        self.active.run(isAwake && !situation.isHeld, at: now)
        self.gate.run(isAwake && situation.waitsAtGate, at: now)
        let moves = isAwake && situation.isOnWire && !situation.isInGrace
        self.idle.run(moves, at: now)
        self.attempt.run(moves, at: now)
    }

    mutating func attemptStarted(at now: MonotonicTime) {
        self.idle.reset(at: now)
        self.attempt.reset(at: now)
    }

    /// What was appointed for the attempt does not matter any more.
    mutating func attemptEnded() {
        guard !self.appointments.isEmpty else { return }
        self.appointments.removeAll { [.pause, .grace, .silence].contains($0.clock) }
    }

    /// Something moved; a moment before the last one that is known changes nothing.
    mutating func bytesMoved(at moment: MonotonicTime) { self.idle.reset(at: moment) }

    /// Makes an appointment, in place of an older one of the same kind; nil drops it.
    mutating func appoint(_ clock: Clock, at moment: MonotonicTime?) {
        if self.hasAppointment(clock) { self.appointments.removeAll { $0.clock == clock } }
        if let moment { self.appointments.append((clock, moment)) }
    }

    mutating func stop() { self.appointments = [] }

    func hasAppointment(_ clock: Clock) -> Bool { self.appointments.contains { $0.clock == clock } }

    func activeTime(at now: MonotonicTime) -> Duration { self.active.reading(at: now) }

    func lifetime(at now: MonotonicTime) -> Duration { self.life.reading(at: now) }

    /// How long the task waited at its gate.
    func waitedTime(at now: MonotonicTime) -> Duration { self.gate.reading(at: now) }

    /// When a clock strikes; nil where it does not run or has no limit.
    func due(_ clock: Clock) -> MonotonicTime? {
        switch clock {
        case .deadline: self.limits.deadline.flatMap(self.life.due)
        case .active: self.limits.active.flatMap(self.active.due)
        case .patience: self.limits.patience.flatMap(self.gate.due)
        case .idle: self.idle.due(at: self.limits.idle)
        case .attempt: self.limits.attempt.flatMap(self.attempt.due)
        case .pause, .backoff, .schedule, .grace, .silence, .circuit, .disk, .budget, .expiry:
            self.appointments.first { $0.clock == clock }?.at
        }
    }

    /// The next moment at which a clock strikes.
    var nextDue: MonotonicTime? {
        var next: MonotonicTime?
        func consider(_ due: MonotonicTime?) {
            guard let due else { return }
            next = next.map { min($0, due) } ?? due
        }
        consider(self.due(.deadline))
        consider(self.due(.active))
        consider(self.due(.patience))
        consider(self.due(.idle))
        consider(self.due(.attempt))
        for appointment in self.appointments { consider(appointment.at) }
        return next
    }

    /// The clocks that have struck at `now`; appointments among them are over.
    mutating func strike(at now: MonotonicTime) -> [Clock] {
        let struck = Clock.allCases.filter { clock in self.due(clock).map { $0 <= now } ?? false }
        self.appointments.removeAll { $0.at <= now }
        return struck
    }
}
