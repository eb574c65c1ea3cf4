internal import Glibc
internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import Tidegate

/// Terminates the process if its services do not stop within the grace period, for example because a disk hangs.
final class ShutdownWatchdog: Sendable {
    private let logger: Logger
    private let gracePeriod: Duration
    private let terminate: @Sendable () -> Void
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// A watchdog that calls `terminate` after `gracePeriod`.
    init(
        logger: Logger, gracePeriod: Duration = .milliseconds(9500),
        terminate: @escaping @Sendable () -> Void
    ) {
        self.logger = logger
        self.gracePeriod = gracePeriod
        self.terminate = terminate
    }

    /// A watchdog that ends the process, once its last lines are written or nobody reads them.
    ///
    /// It does not call exit(3), which would wait for a hanging thread again.
    convenience init(logger: Logger, output: LogOutput) {
        self.init(logger: logger) {
            output.finish(within: .milliseconds(200))
            _exit(1)
        }
    }

    /// The shutdown has begun.
    func start() {
        let (logger, gracePeriod, terminate) = (self.logger, self.gracePeriod, self.terminate)
        let watching = Task.detached {
            guard (try? await ContinuousClock().sleep(for: gracePeriod)) != nil else { return }
            logger.error("shutdown grace period exceeded, exiting")
            terminate()
        }
        self.task.withLock { $0 = watching }
    }

    /// All services have stopped.
    func cancel() { self.task.withLock { $0.take() }?.cancel() }

    /// Waits until the watchdog has fired or was cancelled.
    func wait() async { await self.task.withLock { $0 }?.value }
}

/// Stops something at shutdown, after the services that were started later.
struct ShutdownService: Service {
    let stop: @Sendable () async -> Void

    func run() async throws {
        try? await gracefulShutdown()
        await self.stop()
    }
}

/// Runs the scheduled tasks until shutdown, which cancels them.
struct ScheduleService: Service {
    let scheduler: Scheduler
    let tasks: [ScheduledTask]
    let session: Session

    func run() async throws {
        await self.scheduler.load(self.tasks)
        try? await gracefulShutdown()
        async let stop: Void = self.scheduler.stop()
        // Runs are cancelled in time even if a disk hangs.
        await self.session.invalidate(cancellingTasks: true)
        await stop
    }
}
