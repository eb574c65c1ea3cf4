package import TidegateCore

/// Decides when scheduled tasks have their turns; a task whose last run is not over loses its turn.
///
/// Turns stand on a grid of `every` from the first one, so that neither jitter nor a slow run makes them drift.
package struct ScheduleMachine: Sendable {
    /// What the schedule knows of a task.
    package struct Entry: Sendable, Hashable {
        package var name: String
        package var every: Duration
        /// The share of ``every`` that a turn after the first may be late at random.
        package var jitter: Double

        package init(name: String, every: Duration, jitter: Double) {
            self.name = name
            self.every = every
            self.jitter = jitter
        }
    }

    /// What can happen.
    package enum Input: Sendable {
        /// These are the tasks from now on; a new one has its first turn at once.
        case loaded([Entry])
        /// Time has passed.
        case tick
        /// A run is over.
        case ended(String)
    }

    /// What is to be done.
    package enum Effect: Sendable, Hashable {
        case run(String)
        case skip(String)
        /// The task is not wanted any more.
        case cancel(String)
    }

    private struct Plan {
        var entry: Entry
        /// The turn's place on the grid.
        var slot: MonotonicTime
        /// The slot with its jitter.
        var due: MonotonicTime
        var isRunning = false
    }

    private var plans: [Plan] = []

    package init() {}

    /// When the next turn is due; nil without tasks.
    package var nextDue: MonotonicTime? { self.plans.map(\.due).min() }

    /// Takes what happened at `now`; gives what is to be done, in the order of the file.
    package mutating func handle(
        _ input: Input, at now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) -> [Effect] {
        switch input {
        case .loaded(let entries): return self.load(entries, at: now)
        case .tick: return self.takeTurns(at: now, using: &generator)
        case .ended(let name):
            for position in self.plans.indices where self.plans[position].entry.name == name {
                self.plans[position].isRunning = false
            }
            return []
        }
    }

    private mutating func load(_ entries: [Entry], at now: MonotonicTime) -> [Effect] {
        let old = Dictionary(self.plans.map { ($0.entry.name, $0) }, uniquingKeysWith: { first, _ in first })
        let gone = self.plans.filter { plan in plan.isRunning && !entries.contains { $0.name == plan.entry.name } }
        self.plans = entries.map { entry in
            var plan = old[entry.name] ?? Plan(entry: entry, slot: now, due: now)
            if plan.entry.every != entry.every { (plan.slot, plan.due) = (now, now) }
            plan.entry = entry
            return plan
        }
        return gone.map { .cancel($0.entry.name) }
    }

    private mutating func takeTurns(
        at now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) -> [Effect] {
        var effects: [Effect] = []
        for position in self.plans.indices where self.plans[position].due <= now {
            let entry = self.plans[position].entry
            effects.append(self.plans[position].isRunning ? .skip(entry.name) : .run(entry.name))
            self.plans[position].isRunning = true
            let slot = ScheduleMachine.slot(after: now, from: self.plans[position].slot, every: entry.every)
            let late = entry.jitter > 0 ? entry.every * Double.random(in: 0..<entry.jitter, using: &generator) : .zero
            (self.plans[position].slot, self.plans[position].due) = (slot, slot + late)
        }
        return effects
    }

    // Slots that passed unseen (a machine asleep) are not made up for.
    private static func slot(after now: MonotonicTime, from slot: MonotonicTime, every: Duration) -> MonotonicTime {
        let step = max(1, every.wholeNanoseconds)
        let passed = max(0, (now - slot).wholeNanoseconds) / step
        return slot + .nanoseconds((passed + 1) * step)
    }
}
