internal import Glibc
internal import Logging
internal import Synchronization

/// Ends the process where its services take longer to end than was promised: a disk may not answer.
final class ShutdownWatchdog: Sendable {
    private let logger: Logger
    private let patience: Duration
    private let leave: @Sendable () -> Void
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// A watch that calls `leave` once `patience` has run out.
    ///
    /// Not exit(3): a thread that hangs would be waited for once more.
    init(
        logger: Logger, patience: Duration = .milliseconds(9500), leave: @escaping @Sendable () -> Void = { _exit(1) }
    ) {
        self.logger = logger
        self.patience = patience
        self.leave = leave
    }

    /// The end has begun.
    func start() {
        let (logger, patience, leave) = (self.logger, self.patience, self.leave)
        let watching = Task.detached {
            guard (try? await ContinuousClock().sleep(for: patience)) != nil else { return }
            logger.error("left what had not ended in time")
            leave()
        }
        self.task.withLock { $0 = watching }
    }

    /// Everything has ended.
    func cancel() { self.task.withLock { $0.take() }?.cancel() }

    /// Waits until the watch has left, or was told that everything has ended.
    func isOver() async { await self.task.withLock { $0 }?.value }
}
