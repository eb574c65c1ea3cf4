internal import Synchronization
public import TidegateCore
internal import TidegateReachability

/// Calls a closure with the verdict on the network, immediately and after every change.
///
/// For synchronous callers; others can read ``Monitor/events(bufferingNewest:)``, or ``Monitor/paths(to:)-(Target)``
/// for a target. Calls are made one after the other, with the newest verdict: if several changes arrive during a call,
/// only the last is passed on. Releasing a watch stops it.
public final class StatusWatch: Sendable {
    private let monitor: Monitor
    private let onChange: @Sendable (Verdict) -> Void
    private let state = Mutex(State())

    private struct State {
        /// Reads the changes; may still be in a call after ``StatusWatch/stop()``.
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

    /// Starts again after ``stop()``; does nothing while the watch is running.
    ///
    /// The closure is first called with the current verdict, once any call in progress has returned.
    public func start() {
        self.state.withLock { state in
            guard !state.isRunning else { return }
            state.isRunning = true
            // Subscribed before the verdict is read, so that no change in between is lost.
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

    /// Stops further calls; a call in progress may still be running when this returns.
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
    /// Watches the verdict on the network, over all its links and routes, until the returned watch is released.
    public func watchStatus(onChange: @escaping @Sendable (Verdict) -> Void) -> StatusWatch {
        StatusWatch(of: self, onChange: onChange)
    }
}
