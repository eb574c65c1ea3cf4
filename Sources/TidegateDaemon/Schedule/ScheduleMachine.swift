internal import TidegateCore

/// The state machine of the scheduler: decides when tasks run, and skips a run while the previous one is active.
///
/// Runs are due at multiples of `every` after the first one, so neither jitter nor a slow run makes them drift.
struct ScheduleMachine: Sendable {
    enum Effect: Sendable, Hashable {
        case run(ScheduledTask)
        case skip(String)
        /// Cancel the run of a removed task.
        case cancel(String)
    }

    private struct Plan {
        var task: ScheduledTask
        /// The time of the next run, without jitter.
        var scheduled: MonotonicTime
        /// The time of the next run, with jitter.
        var due: MonotonicTime
        var isRunning = false
    }

    private var plans: [Plan] = []

    /// When the next run of each task is due, by name.
    var dueTimes: [String: MonotonicTime] {
        Dictionary(self.plans.map { ($0.task.name, $0.due) }, uniquingKeysWith: { first, _ in first })
    }

    /// When the next run is due; nil without tasks.
    var nextDue: MonotonicTime? { self.plans.map(\.due).min() }

    /// Replaces the tasks; a new task runs immediately.
    mutating func load(_ tasks: [ScheduledTask], at now: MonotonicTime) -> [Effect] {
        let old = Dictionary(self.plans.map { ($0.task.name, $0) }, uniquingKeysWith: { first, _ in first })
        let removed = self.plans.filter { plan in plan.isRunning && !tasks.contains { $0.name == plan.task.name } }
        self.plans = tasks.map { task in
            var plan = old[task.name] ?? Plan(task: task, scheduled: now, due: now)
            if plan.task.every != task.every { (plan.scheduled, plan.due) = (now, now) }
            plan.task = task
            return plan
        }
        return removed.map { .cancel($0.task.name) }
    }

    /// Records that a task's run has ended.
    mutating func ended(_ name: String) {
        for position in self.plans.indices where self.plans[position].task.name == name {
            self.plans[position].isRunning = false
        }
    }

    /// Starts the runs that are due, in the order of the configuration file.
    mutating func tick(at now: MonotonicTime, using generator: inout some RandomNumberGenerator) -> [Effect] {
        var effects: [Effect] = []
        for position in self.plans.indices where self.plans[position].due <= now {
            let task = self.plans[position].task
            effects.append(self.plans[position].isRunning ? .skip(task.name) : .run(task))
            self.plans[position].isRunning = true
            let next = ScheduleMachine.next(after: now, from: self.plans[position].scheduled, every: task.every)
            let delay = task.jitter > 0 ? task.every * Double.random(in: 0..<task.jitter, using: &generator) : .zero
            (self.plans[position].scheduled, self.plans[position].due) = (next, next + delay)
        }
        return effects
    }

    // Runs missed while the machine was suspended are not made up for.
    private static func next(
        after now: MonotonicTime, from scheduled: MonotonicTime, every: Duration
    ) -> MonotonicTime {
        let step = max(1, every.wholeNanoseconds)
        let passed = max(0, (now - scheduled).wholeNanoseconds) / step
        return scheduled + .nanoseconds((passed + 1) * step)
    }
}
