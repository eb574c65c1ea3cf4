internal import Synchronization
internal import TidegateCore

/// Wakes a wait when the status may have changed: at every change of a link or path, and four times a second.
///
/// One wake may stand for several changes. The stream ends if the monitor is stopped.
final class WakeSource: Sendable {
    // Checks are due by their own intervals, and a stable time ends without an event.
    private static let interval = Duration.milliseconds(250)

    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let monitor: ReachabilityMonitor
    private let watches: [PathWatch]
    private let events: Task<Void, Never>
    private let isStopped = Atomic<Bool>(false)

    /// The watches keep verdicts on targets up to date that are not configured.
    init(_ monitor: ReachabilityMonitor, targets: Set<Target>) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.stream = stream
        self.continuation = continuation
        self.monitor = monitor
        self.watches = targets.map { monitor.watch($0) { _ in continuation.yield() } }
        let changes = monitor.bus.subscribe(.library) { event in
            switch event.payload {
            case .path, .link: true
            case .targetCheck, .netlink, .task, .session, .probe, .connection, .daemon: false
            }
        }
        self.events = Task { for await _ in changes { continuation.yield() } }
    }

    /// Wakes now and then four times a second.
    func tick() {
        guard !self.isStopped.load(ordering: .acquiring) else { return }
        self.continuation.yield()
        guard !self.monitor.call(after: WakeSource.interval, { self.tick() }) else { return }
        self.continuation.finish()
    }

    func wake() { self.continuation.yield() }

    func stop() {
        self.isStopped.store(true, ordering: .releasing)
        self.events.cancel()
        for watch in self.watches { watch.cancel() }
    }
}
