internal import Synchronization
public import TidegateCore
internal import TidegateReachability

/// Calls a closure with the verdict on the network: at its start, and then whenever that changes.
///
/// For callers that are not async; others read ``Monitor/events(bufferingNewest:)``, or ``Monitor/paths(to:)-(Target)`` of
/// a target. Calls are made one after the other, with the newest verdict: of changes that come while the closure runs,
/// only the last is passed on. A watch that is released is stopped.
public final class StatusWatch: Sendable {
    private let monitor: Monitor
    private let onChange: @Sendable (Verdict) -> Void
    private let state = Mutex(State())

    private struct State {
        /// Reads the changes, and after ``StatusWatch/stop()`` may still be in a call.
        var reader: Task<Void, Never>?
        var isRunning = false
    }

    init(of monitor: Monitor, onChange: @escaping @Sendable (Verdict) -> Void) {
        self.monitor = monitor
        self.onChange = onChange
        self.start()
    }

    deinit { self.stop() }

    /// True between ``start()`` and ``stop()``.
    public var isRunning: Bool { self.state.withLock { $0.isRunning } }

    /// Starts again after ``stop()``: the closure is called with the present verdict first, once a call that is under way
    /// has returned; does nothing while it runs.
    public func start() {
        self.state.withLock { state in
            guard !state.isRunning else { return }
            state.isRunning = true
            // Subscribed before the verdict is read, so that no change is lost in between.
            let changes = self.monitor.bus.subscribe(.library, bufferingNewest: 16) { event in
                if case .path(let path) = event.payload { path.scope == .global } else { false }
            }
            let (monitor, onChange, before) = (self.monitor, self.onChange, state.reader)
            state.reader = Task {
                await before?.value
                await Self.read(changes, of: monitor, onChange)
            }
        }
    }

    /// Stops the calls; one that is being made may still be under way when this returns.
    public func stop() {
        self.state.withLock { state in
            state.isRunning = false
            state.reader?.cancel()
        }
    }

    private static func read(
        _ changes: Subscription, of monitor: Monitor, _ onChange: @Sendable (Verdict) -> Void
    ) async {
        var last = monitor.status.global
        if !Task.isCancelled { onChange(last) }
        for await _ in changes {
            let verdict = monitor.status.global
            guard verdict != last, !Task.isCancelled else { continue }
            last = verdict
            onChange(verdict)
        }
    }
}

extension Monitor {
    /// Watches the verdict on the network, over all its links and routes, as long as what is returned is kept.
    public func watchStatus(onChange: @escaping @Sendable (Verdict) -> Void) -> StatusWatch {
        StatusWatch(of: self, onChange: onChange)
    }
}
