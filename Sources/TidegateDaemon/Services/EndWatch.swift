internal import Glibc
internal import Logging
internal import Synchronization

/// Ends the process where its services take longer to end than was promised: a disk may not answer.
final class EndWatch: Sendable {
    private static let patience = Duration.milliseconds(9500)

    private let logger: Logger
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(logger: Logger) { self.logger = logger }

    /// The end has begun.
    func start() {
        let logger = self.logger
        let watching = Task.detached {
            guard (try? await ContinuousClock().sleep(for: EndWatch.patience)) != nil else { return }
            logger.error("left what had not ended in time")
            // Not exit(3): a thread that hangs would be waited for once more.
            _exit(1)
        }
        self.task.withLock { $0 = watching }
    }

    /// Everything has ended.
    func cancel() { self.task.withLock { $0.take() }?.cancel() }
}
