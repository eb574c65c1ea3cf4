internal import TidegateCore

/// Whether anything has been going on for long enough to show it, as AFNetworking decides that: a pure machine whose
/// time is given.
struct ActivityMachine {
    private(set) var state = ActivityIndicator.State.notActive
    /// When the state ends by itself; nil if it does not.
    private(set) var deadline: MonotonicTime?
    /// A set, so that no task counts twice and none is taken away twice.
    private(set) var tasks: Set<TaskID> = []
    private let delays: (start: Duration, end: Duration)

    init(startDelay: Duration, endDelay: Duration) { self.delays = (max(.zero, startDelay), max(.zero, endDelay)) }

    /// Changes which tasks are going on.
    mutating func change(at now: MonotonicTime, _ change: (inout Set<TaskID>) -> Void) {
        self.advance(to: now)
        change(&self.tasks)
        self.countChanged(at: now)
    }

    /// Carries out what has become due.
    mutating func advance(to now: MonotonicTime) {
        guard let deadline = self.deadline, deadline <= now else { return }
        self.deadline = nil
        switch self.state {
        // What ended meanwhile was too short to be shown.
        case .delayingStart: self.state = self.tasks.isEmpty ? .notActive : .active
        case .delayingEnd: self.state = .notActive
        case .notActive, .active: break
        }
    }

    private mutating func countChanged(at now: MonotonicTime) {
        switch self.state {
        case .notActive where !self.tasks.isEmpty:
            (self.state, self.deadline) = (.delayingStart, now + self.delays.start)
        case .active where self.tasks.isEmpty:
            (self.state, self.deadline) = (.delayingEnd, now + self.delays.end)
        case .delayingEnd where !self.tasks.isEmpty: (self.state, self.deadline) = (.active, nil)
        case .notActive, .delayingStart, .active, .delayingEnd: break
        }
        self.advance(to: now)
    }
}
