internal import CLinux
internal import Glibc
internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import Tidegate
internal import TidegateIncidents
internal import TidegateProbes
internal import TidegateServer
internal import TidegateStore

/// A service of the daemon, made of a function.
struct DaemonService: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { try await self.body() }

    /// Stops something at shutdown, after the services that were started later have stopped.
    static func atShutdown(_ stop: @escaping @Sendable () async -> Void) -> DaemonService {
        DaemonService {
            try? await gracefulShutdown()
            await stop()
        }
    }

    /// Returns free memory to the kernel each minute; the heap of many threads is in pieces, and would keep it.
    static let trimming = DaemonService {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: .seconds(60), clock: .continuous)) != nil { _ = malloc_trim(0) }
        }
    }
}

extension ControlServer {
    // A command may be waiting for the disk, or a client of the event stream may have stopped reading.
    private static let gracePeriod = Duration.seconds(2)

    /// Serves the control socket until shutdown; the daemon exits if it cannot listen.
    func runUntilShutdown(socket: String, _ logger: Logger, _ start: StartNotice) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await self.run {
                    logger.info("control socket listening", metadata: ["socket": "\(socket)"])
                    start.listens()
                }
            }
            group.addTask {
                try? await gracefulShutdown()
                try? await Task.sleep(for: ControlServer.gracePeriod, clock: .continuous)
            }
            // Waits for the end of the server or of the grace period.
            try await group.next()
            group.cancelAll()
            try await group.waitForAll()
        }
    }
}

extension Scheduler {
    /// Runs the scheduled tasks until shutdown, which cancels them.
    func runUntilShutdown(_ tasks: [ScheduledTask], in session: Session) async {
        self.load(tasks)
        try? await gracefulShutdown()
        async let stop: Void = self.stop()
        // Runs are cancelled in time, even if a disk hangs.
        await session.invalidate(cancellingTasks: true)
        await stop
    }
}

extension ProbeScheduler {
    /// Runs the scheduled probes until shutdown; continues the counts that a journal kept from an earlier process.
    func runUntilShutdown(_ probes: [ScheduledProbe], _ bus: EventBus, _ journal: Journal?) async {
        let changes = bus.subscribe(.library) { event in
            if case .path(let path) = event.payload { path.isNewWayOut } else { false }
        }
        self.load(probes, past: journal?.probes ?? [:])
        for await event in changes.cancelOnGracefulShutdown() {
            guard case .path(let path) = event.payload, case .family(let family) = path.scope else { continue }
            self.pathChanged(family)
        }
        self.stop()
    }

    /// A scheduler that runs the probes of `runner` on a monitor's host and publishes them on its bus; `journal` keeps
    /// their counts.
    init(_ runner: ProbeRunner, monitor: Monitor, journal: Journal?, time: any TimeSource) {
        let bus = monitor.bus
        self.init(
            time: time,
            call: { delay, body in
                // Without netlink no thread can run the call.
                guard !monitor.reachability.call(after: delay, body) else { return }
                Task {
                    try? await Task.sleep(for: delay)
                    body()
                }
            },
            publish: { bus.publish(.probe($0)) }, keep: { journal?.recordProbe($0, $1) },
            run: { await runner.run($0) })
    }
}

extension PathEvent {
    /// True if a family has gained a way out of this host, or changed it.
    fileprivate var isNewWayOut: Bool {
        guard case .family = self.scope, self.to.level >= .routed, let path = self.to.path else { return false }
        guard self.from.level >= .routed, let before = self.from.path else { return true }
        return !path.isSamePath(as: before)
    }
}

/// Logs the events of the bus.
struct LogService: Service {
    private let events: Subscription
    private let logger: Logger
    private let time: any TimeSource

    /// Logs events from now on.
    init(bus: EventBus, logger: Logger, time: any TimeSource = SystemClock()) {
        self.time = time
        self.events = bus.subscribe(.log, bufferingNewest: 1024, where: EventRecord.isLoggable)
        self.logger = logger
    }

    func run() async throws {
        var dropped: UInt64 = 0
        var nextNotice = MonotonicTime(nanoseconds: 0)
        // Buffered events are still logged after the shutdown has begun.
        await withGracefulShutdownHandler {
            for await event in self.events {
                if let record = EventRecord(event) {
                    self.logger.log(level: record.level, "\(record.message)", metadata: record.fields)
                }
                guard self.events.dropped > dropped, self.time.monotonic() >= nextNotice else { continue }
                self.logger.warning(
                    "log events dropped", metadata: ["count": .stringConvertible(self.events.dropped - dropped)])
                dropped = self.events.dropped
                nextNotice = self.time.monotonic() + .seconds(1)
            }
        } onGracefulShutdown: {
            self.events.cancel()
        }
    }
}

/// Records incidents, and notifies the operator's command, until shutdown.
struct IncidentService: Service {
    let recorder: IncidentRecorder
    let bus: EventBus
    let command: IncidentCommand

    func run() async throws {
        async let publishing: Void = self.recorder.run { event in
            self.bus.publish(.incident(event))
            self.command.notify(of: event.incident)
        }
        async let commands: Void = cancelWhenGracefulShutdown { await self.command.run() }
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: IncidentRecorder.pause, clock: .continuous)) != nil {
                self.recorder.beat()
            }
        }
        self.recorder.stop()
        await publishing
        await commands
    }
}

/// Terminates the process if its services do not stop within the grace period, for example if a disk hangs.
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

    /// A watchdog that ends the process once its last lines are written or their reader is gone.
    ///
    /// It does not call exit(3), which would again wait for a hanging thread.
    convenience init(logger: Logger, output: LogOutput) {
        self.init(logger: logger) {
            output.finish(within: .milliseconds(200))
            _exit(1)
        }
    }

    /// Starts the grace period, when the shutdown begins.
    func start() {
        let (logger, gracePeriod, terminate) = (self.logger, self.gracePeriod, self.terminate)
        let watching = Task.detached {
            guard (try? await ContinuousClock().sleep(for: gracePeriod)) != nil else { return }
            logger.error("shutdown grace period exceeded, exiting")
            terminate()
        }
        self.task.withLock { $0 = watching }
    }

    /// Disarms the watchdog, once all services have stopped.
    func cancel() { self.task.withLock { $0.take() }?.cancel() }

    /// Waits until the watchdog has fired or has been cancelled.
    func wait() async { await self.task.withLock { $0 }?.value }
}
