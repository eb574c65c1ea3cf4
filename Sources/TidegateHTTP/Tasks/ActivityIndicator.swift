internal import Synchronization
internal import TidegateCore
public import TidegateSession

/// Whether a session has been at work for long enough to show it: on 1 s after a task was resumed, off 0.17 s after the
/// last one ended or was suspended.
///
/// Follows the session's events until it is released.
public final class ActivityIndicator: Sendable {
    /// The states of an indicator.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Nothing is going on.
        case notActive
        /// Something is, not for long enough yet.
        case delayingStart
        /// Something is.
        case active
        /// Nothing is any more, not for long enough yet.
        case delayingEnd
    }

    private struct Storage {
        var machine: ActivityMachine
        var isShown = false
        var readers: Set<AsyncStream<Bool>.Continuation> = []
        var timer: Task<Void, Never>?
        /// How many events the subscription had dropped when it was last looked at.
        var dropped: UInt64 = 0
    }

    private let session: Session
    private let subscription: Subscription
    private let storage: Mutex<Storage>

    /// An indicator of a session's tasks, those included that are under way.
    ///
    /// Negative delays count as 0.
    public init(_ session: Session, startDelay: Duration = .seconds(1), endDelay: Duration = .milliseconds(170)) {
        self.session = session
        self.subscription = session.events(bufferingNewest: 1024)
        self.storage = Mutex(Storage(machine: ActivityMachine(startDelay: startDelay, endDelay: endDelay)))
        // Events before this moment are in the list, and those after it in the subscription; in both does no harm.
        self.countAnew()
        let subscription = self.subscription
        Task { [weak self] in
            for await event in subscription {
                guard let self else { return }
                if case .task(let task) = event.payload { self.take(task) }
            }
        }
        guard let time = session.time as? any MovableTimeSource else { return }
        time.onMove { [weak self] in
            self?.publish()
            return self != nil
        }
    }

    deinit {
        self.subscription.cancel()
        let (timer, readers) = self.storage.withLock { ($0.timer, $0.readers) }
        timer?.cancel()
        for reader in readers { reader.finish() }
    }

    /// The state now.
    public var state: State {
        let now = self.session.time.monotonic()
        return self.storage.withLock { storage in
            storage.machine.advance(to: now)
            return storage.machine.state
        }
    }

    /// True if the activity is to be shown: also while its end is delayed.
    public var isActive: Bool { [.active, .delayingEnd].contains(self.state) }

    /// Whether the activity is to be shown, for one reader: first now, then after changes; the newest value is kept.
    ///
    /// Ends when the indicator is released.
    public var changes: AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
        self.storage.withLock { storage in
            storage.readers.insert(continuation)
            continuation.yield(storage.isShown)
            continuation.onTermination = { [weak self] _ in
                self?.storage.withLock { storage in _ = storage.readers.remove(continuation) }
            }
        }
        return stream
    }

    private func take(_ event: TaskEvent) {
        let dropped = self.subscription.dropped
        let isMissing = self.storage.withLock { exchange(&$0.dropped, with: dropped) != dropped }
        if isMissing { return self.countAnew() }
        let now = self.session.time.monotonic()
        switch event.kind {
        case .resumed: self.storage.withLock { $0.machine.change(at: now) { $0.insert(event.id) } }
        case .suspended, .completed: self.storage.withLock { $0.machine.change(at: now) { $0.remove(event.id) } }
        default: return
        }
        self.publish()
    }

    private func countAnew() {
        let tasks = self.session.tasks().filter { [.waiting, .running].contains($0.state.name) }
        let now = self.session.time.monotonic()
        self.storage.withLock { $0.machine.change(at: now) { $0 = Set(tasks.map(\.id)) } }
        self.publish()
    }

    // Says what has changed, and comes back when something is due.
    private func publish() {
        let now = self.session.time.monotonic()
        self.storage.withLock { storage in
            storage.machine.advance(to: now)
            let isShown = [.active, .delayingEnd].contains(storage.machine.state)
            if isShown != storage.isShown {
                storage.isShown = isShown
                // Keeps the value, and calls no handler.
                for reader in storage.readers { reader.yield(isShown) }
            }
            storage.timer?.cancel()
            storage.timer = storage.machine.deadline.map { deadline in
                Task { [weak self] in
                    guard (try? await ContinuousClock().sleep(for: deadline - now)) != nil else { return }
                    self?.publish()
                }
            }
        }
    }
}

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
