internal import Synchronization

/// Yields into a stream at once and then at intervals, until it is stopped; ends the stream if the monitor is stopped.
final class Ticker: Sendable {
    private let monitor: ReachabilityMonitor
    private let interval: Duration
    private let continuation: AsyncStream<Void>.Continuation
    private let isStopped = Atomic<Bool>(false)

    init(_ monitor: ReachabilityMonitor, every interval: Duration, _ continuation: AsyncStream<Void>.Continuation) {
        self.monitor = monitor
        self.interval = interval
        self.continuation = continuation
    }

    func start() {
        guard !self.isStopped.load(ordering: .acquiring) else { return }
        self.continuation.yield()
        guard !self.monitor.call(after: self.interval, { self.start() }) else { return }
        self.continuation.finish()
    }

    func stop() { self.isStopped.store(true, ordering: .releasing) }
}
