internal import Logging
internal import ServiceLifecycle
internal import Tidegate
internal import TidegateServer
internal import TidegateStore
internal import TidegateCore
internal import UnixSignals

/// The sidecar: a monitor, its endpoint, its scheduled tasks and its log, until a signal ends them.
package struct Daemon: Sendable {
    private let settings: DaemonSettings
    private let configuration: Configuration
    private let monitorConfiguration: MonitorConfiguration
    private let web: WebService?

    /// A daemon; its configuration files are read now.
    ///
    /// - Throws: ``DaemonError/configuration(_:)`` naming every problem of the files.
    package init(_ settings: DaemonSettings) throws(DaemonError) {
        self.settings = settings
        let files = ConfigurationFiles(settings, at: SystemClock().wall())
        if let error = ConfigurationError(files.errors) { throw .configuration(error) }
        self.configuration = files.configuration
        self.web = files.web
        do {
            self.monitorConfiguration = try self.configuration.monitorConfiguration(version: settings.version)
        } catch {
            let file = settings.configurationFile ?? "the built-in configuration"
            throw .configuration(ConfigurationError(file: file, error.description))
        }
    }

    /// Runs until SIGTERM or SIGINT; then everything ends within ten seconds.
    ///
    /// - Throws: ``DaemonError/resource(_:)`` where the machine refuses a thread or a port.
    package func run() async throws(DaemonError) {
        let time = SystemClock()
        let handler = LineLogHandler(
            level: self.settings.logLevel.level, format: self.settings.logFormat, time: time,
            write: LineLogHandler.writeToStandardError)
        let logger = Logger(label: "tidegate") { _ in handler }
        logger.info("starting", metadata: self.introduction)
        let bus = EventBus(time: time)
        // Before the monitor, so that the first verdict is in the log.
        let log = LogService(bus: bus, logger: logger)
        let journal = try JournalKeeping(settings: self.settings, configuration: self.configuration.journal).open(
            time: time, bus: bus
        ) { logger.warning("no tasks can be submitted", metadata: ["error": "\($0)"]) }
        let monitor: Monitor
        do {
            monitor = try Monitor(self.monitorConfiguration, bus: bus, journal: journal, time: time)
            monitor.bus.publish(.daemon(.configurationLoaded(isGood: true)))
            if let journal {
                monitor.bus.publish(.daemon(.journal(.opened(unfinished: journal.unfinished))))
                try await monitor.session.restore()
            }
        } catch {
            throw .resource(error.underlying)
        }
        let services = Surroundings(
            monitor: monitor, journal: journal, log: log, time: time, logger: logger,
            watch: ShutdownWatchdog(logger: logger))
        try await self.run(services)
    }

    private func run(_ surroundings: Surroundings) async throws(DaemonError) {
        let logger = surroundings.logger
        defer { surroundings.watch.cancel() }
        do {
            try await self.services(surroundings).run()
        } catch let error as EndpointError {
            throw .resource(error.description)
        } catch let error as ControlError {
            throw .resource(error.description)
        } catch is CancellationError {
            // The time for a graceful end ran out, and everything was cancelled.
            logger.warning("stopped before everything had ended")
        } catch {
            throw .resource("\(error)")
        }
    }

    private var introduction: Logger.Metadata {
        [
            "version": "\(self.settings.version)", "config": "\(self.settings.configurationFile ?? "none")",
            "tasks": "\(self.configuration.tasks.count)", "web": "\(self.settings.webConfigurationFile ?? "none")",
        ]
    }

    /// What the services share.
    private struct Surroundings {
        let monitor: Monitor
        let journal: Journal?
        let log: LogService
        let time: any TimeSource
        let logger: Logger
        let watch: ShutdownWatchdog
    }

    // Shut down in reverse: no command comes, no turn begins, then nobody asks, then nothing moves, then nothing is left
    // to log.
    private func services(_ surroundings: Surroundings) throws -> ServiceGroup {
        let (monitor, time, logger) = (surroundings.monitor, surroundings.time, surroundings.logger)
        let runner = ScheduledRun(session: monitor.session, transfers: self.configuration.transfers, logger: logger)
        let bus = monitor.bus
        let ledger = ReloadStatus(bus: bus)
        let scheduler = Scheduler(
            time: time, onSkip: { bus.publish(.daemon(.turnSkipped(task: $0))) }, turn: { await runner.run($0) })
        var endpoint = self.settings.endpoint
        endpoint.version = self.settings.version
        endpoint.targetNames = self.monitorConfiguration.targetNames
        self.configuration.apply(to: &endpoint)
        let server = Endpoint(
            configuration: endpoint, view: monitor, bus: bus, recorder: monitor.recorder, time: time,
            access: self.web?.source(time: time, ledger: ledger, logger: logger))
        var services: [any Service] = [surroundings.log, MemoryService()]
        if let journal = surroundings.journal { services.append(JournalService(journal: journal, bus: bus)) }
        services += [MonitorService(monitor: monitor), EndpointService(endpoint: server, logger: logger)]
        services += try RemoteWriteService.all(
            self.configuration, self.settings, monitor: monitor, endpoint: server, time: time)
        services += [
            ReloadService(
                file: self.settings.configurationFile, started: self.configuration, scheduler: scheduler,
                runner: runner, ledger: ledger, logger: logger),
            ScheduleService(scheduler: scheduler, tasks: self.configuration.tasks, session: monitor.session),
        ]
        // What the session has let go of for the next process must not be told as done to whoever asks for it.
        if surroundings.journal != nil { services.append(self.control(of: monitor, time, logger)) }
        services.append(StopService(bus: bus, watch: surroundings.watch))
        var group = ServiceGroupConfiguration(
            services: services.map { .init(service: $0) }, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // What is still there a moment later is left by the watch; the group's own limit would trap.
        group.maximumGracefulShutdownDuration = .seconds(8)
        return ServiceGroup(configuration: group)
    }

    private func control(of monitor: Monitor, _ time: any TimeSource, _ logger: Logger) -> ControlService {
        ControlService(
            server: ControlServer(
                path: self.settings.controlSocket, control: SessionControl(session: monitor.session), bus: monitor.bus,
                time: time),
            path: self.settings.controlSocket, logger: logger)
    }
}
