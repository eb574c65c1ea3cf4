internal import TidegateCore

/// The state machine of the scheduler: when tasks run; a run is skipped if the previous one is still active.
///
/// Runs are due at multiples of `every` after the first one, so that neither jitter nor a slow run makes them drift.
struct ScheduleMachine: Sendable {
    /// The schedule of a task.
    struct Entry: Sendable, Hashable {
        var name: String
        var every: Duration
        /// The maximum random delay of runs after the first, as a fraction of ``every``.
        var jitter: Double
    }

    enum Input: Sendable {
        /// The tasks from now on; a new one runs at once.
        case loaded([Entry])
        /// A run may be due.
        case tick
        /// The run of a task has ended.
        case ended(String)
    }

    enum Effect: Sendable, Hashable {
        case run(String)
        case skip(String)
        /// Cancel the run of a removed task.
        case cancel(String)
    }

    private struct Plan {
        var entry: Entry
        /// The time of the next run, without jitter.
        var scheduled: MonotonicTime
        /// The time of the next run, with jitter.
        var due: MonotonicTime
        var isRunning = false
    }

    private var plans: [Plan] = []

    /// When the next run of each task is due, by its name.
    var dueTimes: [String: MonotonicTime] {
        Dictionary(self.plans.map { ($0.entry.name, $0.due) }, uniquingKeysWith: { first, _ in first })
    }

    /// When the next run is due; nil without tasks.
    var nextDue: MonotonicTime? { self.plans.map(\.due).min() }

    /// Handles an input at `now`; returns effects in the order of the configuration file.
    mutating func handle(
        _ input: Input, at now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) -> [Effect] {
        switch input {
        case .loaded(let entries): return self.load(entries, at: now)
        case .tick: return self.startDue(at: now, using: &generator)
        case .ended(let name):
            for position in self.plans.indices where self.plans[position].entry.name == name {
                self.plans[position].isRunning = false
            }
            return []
        }
    }

    private mutating func load(_ entries: [Entry], at now: MonotonicTime) -> [Effect] {
        let old = Dictionary(self.plans.map { ($0.entry.name, $0) }, uniquingKeysWith: { first, _ in first })
        let removed = self.plans.filter { plan in plan.isRunning && !entries.contains { $0.name == plan.entry.name } }
        self.plans = entries.map { entry in
            var plan = old[entry.name] ?? Plan(entry: entry, scheduled: now, due: now)
            if plan.entry.every != entry.every { (plan.scheduled, plan.due) = (now, now) }
            plan.entry = entry
            return plan
        }
        return removed.map { .cancel($0.entry.name) }
    }

    private mutating func startDue(
        at now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) -> [Effect] {
        var effects: [Effect] = []
        for position in self.plans.indices where self.plans[position].due <= now {
            let entry = self.plans[position].entry
            effects.append(self.plans[position].isRunning ? .skip(entry.name) : .run(entry.name))
            self.plans[position].isRunning = true
            let next = ScheduleMachine.next(after: now, from: self.plans[position].scheduled, every: entry.every)
            let delay = entry.jitter > 0 ? entry.every * Double.random(in: 0..<entry.jitter, using: &generator) : .zero
            (self.plans[position].scheduled, self.plans[position].due) = (next, next + delay)
        }
        return effects
    }

    // Runs that were missed, while the machine was suspended, are not made up for.
    private static func next(
        after now: MonotonicTime, from scheduled: MonotonicTime, every: Duration
    ) -> MonotonicTime {
        let step = max(1, every.wholeNanoseconds)
        let passed = max(0, (now - scheduled).wholeNanoseconds) / step
        return scheduled + .nanoseconds((passed + 1) * step)
    }
}
