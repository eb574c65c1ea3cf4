internal import Synchronization
internal import TidegateCore
public import TidegateSession

/// Shows whether a session has been active for long enough.
///
/// Switches on 1 s after a task was resumed, and off 0.17 s after the last one ended or was suspended. Follows the
/// session's events until it is released.
public final class ActivityIndicator: Sendable {
    /// The states of an indicator.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// No activity.
        case notActive
        /// Activity that has not lasted long enough yet.
        case delayingStart
        /// Activity.
        case active
        /// No more activity, but not for long enough yet.
        case delayingEnd
    }

    private struct Storage {
        var machine: ActivityMachine
        var isShown = false
        var readers: Set<AsyncStream<Bool>.Continuation> = []
        var timer: Task<Void, Never>?
        /// The subscription's count of dropped events at the last check.
        var dropped: UInt64 = 0
    }

    private let session: Session
    private let subscription: Subscription
    private let storage: Mutex<Storage>

    /// An indicator for a session's tasks, including those already running.
    ///
    /// Negative delays count as 0.
    public init(_ session: Session, startDelay: Duration = .seconds(1), endDelay: Duration = .milliseconds(170)) {
        self.session = session
        self.subscription = session.events(bufferingNewest: 1024)
        self.storage = Mutex(Storage(machine: ActivityMachine(startDelay: startDelay, endDelay: endDelay)))
        // Earlier events are reflected in the list, and later ones arrive in the subscription; an event in both does no
        // harm.
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

    /// The current state.
    public var state: State {
        let now = self.session.time.monotonic()
        return self.storage.withLock { storage in
            storage.machine.advance(to: now)
            return storage.machine.state
        }
    }

    /// True if activity should be shown, which includes the delay before its end.
    public var isActive: Bool { [.active, .delayingEnd].contains(self.state) }

    /// Whether activity should be shown, for one reader: the current value first, then every change.
    ///
    /// Only the newest value is kept. Ends when the indicator is released.
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

    // Publishes changes, and schedules itself for the next deadline.
    private func publish() {
        let now = self.session.time.monotonic()
        self.storage.withLock { storage in
            storage.machine.advance(to: now)
            let isShown = [.active, .delayingEnd].contains(storage.machine.state)
            if isShown != storage.isShown {
                storage.isShown = isShown
                // Only stores the value, and calls no handler.
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

/// Decides whether activity has lasted long enough to show it, with AFNetworking's rules.
///
/// A pure machine: the time is passed in.
struct ActivityMachine {
    private(set) var state = ActivityIndicator.State.notActive
    /// When the state changes without further input; nil if it does not.
    private(set) var deadline: MonotonicTime?
    /// A set, so that no task is added or removed twice.
    private(set) var tasks: Set<TaskID> = []
    private let delays: (start: Duration, end: Duration)

    init(startDelay: Duration, endDelay: Duration) { self.delays = (max(.zero, startDelay), max(.zero, endDelay)) }

    /// Changes the set of active tasks.
    mutating func change(at now: MonotonicTime, _ change: (inout Set<TaskID>) -> Void) {
        self.advance(to: now)
        change(&self.tasks)
        self.countChanged(at: now)
    }

    /// Performs the transitions that are due.
    mutating func advance(to now: MonotonicTime) {
        guard let deadline = self.deadline, deadline <= now else { return }
        self.deadline = nil
        switch self.state {
        // Activity that has already ended was too short to be shown.
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
