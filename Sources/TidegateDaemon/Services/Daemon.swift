internal import Glibc
internal import Logging
internal import ServiceLifecycle
internal import Tidegate
internal import TidegateIncidents
internal import TidegateLoop
internal import TidegateProbes
internal import TidegateServer
internal import TidegateStore
internal import UnixSignals

/// A daemon with a monitor, an endpoint, a control socket, scheduled tasks and a log; a signal stops it.
package struct Daemon: Sendable {
    private let settings: DaemonSettings
    private let configuration: Configuration
    private let monitorConfiguration: MonitorConfiguration
    private let web: WebService?
    private let hangups: UnixSignalsSequence

    /// Reads the configuration files now, and again on every SIGHUP from now on; takes the service manager's sockets.
    ///
    /// - Throws: ``DaemonError/configuration(_:)`` with every problem in the files, ``DaemonError/resource(_:)`` if a
    /// socket cannot be used.
    package init(_ settings: DaemonSettings) async throws(DaemonError) {
        var settings = settings
        let sockets = Result { try InheritedSockets { name in getenv(name).map { String(cString: $0) } } }
        settings.use(try sockets.mapError { DaemonError.resource("\($0)") }.get())
        self.settings = settings
        // Trapped first: a file that changes while it is read is read again.
        self.hangups = await UnixSignalsSequence(trapping: .sighup)
        var (configuration, web, errors) = (Configuration(), WebService?.none, [ConfigurationError]())
        do throws(ConfigurationError) {
            if let file = settings.configurationFile { configuration = try Configuration.load(file: file) }
        } catch {
            errors.append(error)
        }
        do throws(ConfigurationError) {
            if let file = settings.webConfigurationFile { web = try WebService(path: file, at: SystemClock().wall()) }
        } catch {
            errors.append(error)
        }
        if let error = ConfigurationError(errors) { throw .configuration(error) }
        (self.configuration, self.web) = (configuration, web)
        do {
            self.monitorConfiguration = try self.configuration.monitorConfiguration(version: settings.version)
        } catch {
            let file = settings.configurationFile ?? "built-in configuration"
            throw .configuration(ConfigurationError(file: file, error.description))
        }
    }

    /// Runs until SIGTERM or SIGINT, and stops within ten seconds.
    ///
    /// - Throws: ``DaemonError/resource(_:)`` if a thread, a port, the control socket or the journal is not available.
    package func run() async throws(DaemonError) {
        try Self.checkDescriptors()
        let time = SystemClock()
        let output = try self.logOutput(time)
        // Writes the last lines, if the log still has a reader.
        defer { output.finish(within: .seconds(1)) }
        let handler = LineLogHandler(
            logLevel: self.settings.logLevel.level, format: self.settings.logFormat, time: time, write: output.put)
        let logger = Logger(label: "tidegate") { _ in handler }
        logger.info("starting", metadata: self.startMetadata)
        for warning in self.startWarnings { logger.warning("\(warning)") }
        if let checks = self.checkMetadata {
            logger.info("configured targets are connected to; \"check: none\" leaves one alone", metadata: checks)
        }
        let bus = EventBus(time: time)
        // Made before the monitor, so that the first verdict is logged.
        let log = LogService(bus: bus, logger: logger)
        let journal = try self.openJournal(time: time, bus: bus) {
            logger.warning(
                "task journal unavailable; submissions are disabled, and incidents end with this process",
                metadata: ["error": "\($0)"])
        }
        if let journal { Self.warn(of: journal, logger) }
        let incidents = self.incidents(journal, bus, time)
        let start = StartNotice(self.settings.notifySocket, sockets: journal == nil ? 1 : 2, bus: bus)
        let (notes, bodies) = (AttemptNotes(), KeptBodies())
        bus.attach(notes)
        var configuration = self.monitorConfiguration
        configuration.observer = bodies.observer
        if let journal { self.keep(in: journal, &configuration, time, logger) }
        let monitor: Monitor
        do {
            monitor = try Monitor(configuration, bus: bus, journal: journal?.tasks, time: time)
            monitor.bus.publish(.daemon(.configurationLoaded(isGood: true)))
            if let journal {
                monitor.bus.publish(.daemon(.journal(.opened(unfinished: journal.unfinished))))
                if let lost = journal.lost { monitor.bus.publish(.daemon(.journal(lost))) }
                try await monitor.session.restore()
            }
        } catch {
            throw .resource("\(error)")
        }
        try await self.run(
            Dependencies(
                monitor: monitor, journal: journal, log: log, time: time, logger: logger,
                watchdog: ShutdownWatchdog(logger: logger, output: output), notes: notes, bodies: bodies,
                notify: self.settings.notifySocket, start: start, incidents: incidents))
    }

    private static func checkDescriptors() throws(DaemonError) {
        let (limit, least) = (DescriptorShortage.limit, DescriptorShortage.base + 16)
        guard limit < least else { return }
        throw .resource("\(limit) files may be open, and \(least) are needed: \(DescriptorCheck.advice)")
    }

    private static func warn(of journal: Journal, _ logger: Logger) {
        if let copy = journal.copyBeforeRepair {
            logger.warning("the journal was damaged and is repaired", metadata: ["copy": "\(copy)"])
        }
        for reason in journal.setAside {
            logger.warning("unreadable task set aside in the journal", metadata: ["error": "\(reason)"])
        }
    }

    // Watches from now on.
    private func incidents(_ journal: Journal?, _ bus: EventBus, _ time: any TimeSource) -> IncidentService {
        let (checks, names) = (
            self.monitorConfiguration.reachability.targetChecks, self.monitorConfiguration.targetNames
        )
        let recorder = IncidentRecorder(
            journal: journal, names: names,
            unchecked: Set(names.keys.filter { checks[$0]?.kind == TargetCheck.Kind.none }),
            time: time, suspended: SystemClock.suspended)
        bus.attach(recorder)
        let command = IncidentCommand(self.configuration.incidentCommand, time: time) {
            bus.publish(.daemon(.incidentCommand(failure: $0)))
        }
        return IncidentService(recorder: recorder, bus: bus, command: command)
    }

    private func keep(
        in journal: Journal, _ configuration: inout MonitorConfiguration, _ time: any TimeSource, _ logger: Logger
    ) {
        configuration.session.validators = self.validators(logger)
        configuration.keepNormals = { journal.recordNormals($0) }
        do throws(TextError) {
            configuration.normals = try journal.normals(at: time.wall())
        } catch {
            logger.warning("usual round trips are learned again", metadata: ["error": "\(error)"])
        }
    }

    // Without the store, conditional tasks request the whole response.
    private func validators(_ logger: Logger) -> ValidatorStore? {
        do {
            return try ValidatorStore(directory: "\(self.settings.stateDirectory)/validators")
        } catch {
            logger.warning("conditional tasks request everything", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Opens the journal.
    ///
    /// Returns nil if the default state directory cannot be used and holds no journal. The daemon then runs without
    /// durable tasks, for example in a container without a disk. `unavailable` receives the reason.
    ///
    /// - Throws: ``DaemonError/resource(_:)`` if the journal is damaged or in use by another daemon, or if an
    /// explicitly set state directory cannot be used.
    private func openJournal(
        time: any TimeSource, bus: EventBus, unavailable: (String) -> Void
    ) throws(DaemonError) -> Journal? {
        do {
            return try Journal(
                directory: self.settings.stateDirectory, retention: self.configuration.journal.retention,
                dependencies: .init(time: time, onEvent: { bus.publish(.daemon(.journal($0))) }))
        } catch .unusable(let path, let message)
            where !self.settings.isStateDirectoryExplicit && !Journal.exists(in: self.settings.stateDirectory)
            // With an inherited control socket the kernel would let clients connect to nothing.
            && self.settings.controlDescriptor == nil
        {
            unavailable(JournalOpenError.unusable(path, message).description)
            return nil
        } catch {
            throw .resource(error.description)
        }
    }

    private func logOutput(_ time: any TimeSource) throws(DaemonError) -> LogOutput {
        let (level, format) = (self.settings.logLevel.level, self.settings.logFormat)
        let output = LogOutput(descriptor: STDERR_FILENO, time: time) { count in
            LineLogHandler(logLevel: level, format: format, time: time, write: { _ in })
                .line(.warning, "log lines dropped", [("count", LogValue("\(count)", json: .integer(Int64(count))))])
        }
        try Result { try output.start() }.mapError { DaemonError.resource("\($0)") }.get()
        return output
    }

    private func run(_ dependencies: Dependencies) async throws(DaemonError) {
        let logger = dependencies.logger
        defer { dependencies.watchdog.cancel() }
        do {
            try await self.services(dependencies).run()
        } catch is CancellationError {
            // The graceful shutdown took too long, so the remaining services were cancelled.
            logger.warning("graceful shutdown timed out, services were cancelled")
        } catch {
            throw .resource("\(error)")
        }
    }

    private var startWarnings: [String] {
        let descriptors = DescriptorCheck(
            limit: DescriptorShortage.limit, listeners: self.settings.endpoint.listen.count,
            connectionsEach: self.wantedConnections(hasModules: !self.configuration.probes.modules.isEmpty),
            transfers: self.monitorConfiguration.session.maxConnections)
        return (self.web?.first.warnings ?? []) + self.configuration.secretFiles.compactMap(SecretFile.warning(about:))
            + [descriptors.warning, self.credentialWarning].compactMap(\.self)
    }

    // Warns if every client that reaches the endpoint can use the modules' credentials; nil if none can.
    private var credentialWarning: String? {
        let probes = self.configuration.probes
        let modules = probes.modules.filter { $0.value.hasCredentials && probes.targets.credentials[$0.key] == nil }
            .keys
            .sorted()
        guard !modules.isEmpty, self.web?.access.authenticates != true,
            let address = self.settings.endpoint.listen.first(where: { !$0.isLoopback })
        else { return nil }
        return "every client of \(address) can have the credentials of \(modules.joined(separator: ", ")) sent to any "
            + "host: name the hosts in probe_credentials, or require a password with --web.config.file"
    }

    private var startMetadata: Logger.Metadata {
        [
            "version": "\(self.settings.version)", "config": "\(self.settings.configurationFile ?? "none")",
            "tasks": .stringConvertible(self.configuration.tasks.count),
            "web": "\(self.settings.webConfigurationFile ?? "none")",
        ]
    }

    // The number of checked targets by kind; nil if none is checked.
    private var checkMetadata: Logger.Metadata? {
        let kinds = self.monitorConfiguration.reachability.targetChecks.values.map(\.kind).filter { $0 != .none }
        guard !kinds.isEmpty else { return nil }
        return Dictionary(grouping: kinds, by: \.rawValue).mapValues { .stringConvertible($0.count) }
    }

    /// What the services share.
    private struct Dependencies {
        let monitor: Monitor
        let journal: Journal?
        let log: LogService
        let time: any TimeSource
        let logger: Logger
        let watchdog: ShutdownWatchdog
        let notes: AttemptNotes
        let bodies: KeptBodies
        let notify: NotifySocket?
        let start: StartNotice
        let incidents: IncidentService

        /// The services that report to the service manager; none without one.
        var notices: [any Service] {
            guard let notify else { return [] }
            return [
                DaemonService { [start = self.start] in await start.showStatus() },
                DaemonService { [monitor = self.monitor] in
                    await cancelWhenGracefulShutdown {
                        await notify.feedWatchdog { monitor.stalledThreads.isEmpty }
                    }
                },
            ]
        }

        /// Announces that the daemon is stopping, before any service stops.
        func stop() {
            self.watchdog.start()
            self.notify?.send(.stopping)
            self.monitor.bus.publish(.daemon(.stopping))
            // An attempt that started now would only be cancelled when the session is invalidated.
            self.monitor.session.holdAll()
        }
    }

    // Services stop in reverse order: control socket, scheduler, remote write, endpoint, monitor, journal, log.
    private func services(_ dependencies: Dependencies) throws -> ServiceGroup {
        ServerLoops.useOneThread()
        let (monitor, time, logger) = (dependencies.monitor, dependencies.time, dependencies.logger)
        let policies = TransferPolicies(self.configuration.transfers)
        let (bus, journal, status) = (monitor.bus, dependencies.journal, ReloadStatus(bus: monitor.bus))
        let scheduler = Scheduler(
            time: time, onSkip: { bus.publish(.daemon(.runSkipped(task: $0))) },
            run: { [session = monitor.session] in await $0.run(in: session, under: policies, logger) })
        let probes = self.probeRunner(monitor)
        let probeScheduler = ProbeScheduler(probes, monitor: monitor, journal: journal, time: time)
        let reloader = self.settings.configurationFile.map { file in
            ConfigurationReloader(file: file, started: self.configuration, status: status, logger: logger) { next in
                policies.update(next.transfers)
                probes.update(next.probes)
                await probeScheduler.load(next.scheduledProbes)
                await scheduler.load(next.tasks)
            }
        }
        let endpoint = Endpoint(
            configuration: self.endpointConfiguration, view: monitor, bus: bus, recorder: monitor.recorder, time: time,
            access: self.web?.source(time: time, status: status, logger: logger),
            storage: journal.map(PageHistoryStorage.init), probes: probes,
            nextRuns: { await scheduler.nextRuns }, scheduledProbes: { await probeScheduler.reports },
            reload: reloader?.answer, incidents: dependencies.incidents.recorder,
            connectionLimit: { self.connectionLimit(hasModules: probes.hasModules) })
        var services: [any Service] = [dependencies.log]
        if let journal { services.append(DaemonService.atShutdown { journal.close() }) }
        services += [
            dependencies.incidents, DaemonService.atShutdown { await monitor.stop() },
            DaemonService { try await self.serve(endpoint, probes, dependencies) },
        ]
        if let configuration = self.configuration.remoteWriteConfiguration(settings: self.settings, logger: logger) {
            let writer = try RemoteWriter(configuration, monitor: monitor, endpoint: endpoint, time: time)
            // Stops before the monitor, so that the last samples are not those of a stopped monitor.
            services.append(DaemonService.atShutdown { await writer.stop() })
        }
        services += [
            DaemonService { await self.reloadOnHangup(reloader, dependencies) },
            DaemonService { await scheduler.runUntilShutdown(self.configuration.tasks, in: monitor.session) },
            DaemonService { await probeScheduler.runUntilShutdown(self.configuration.scheduledProbes, bus, journal) },
        ]
        // Stopped before the session: a task that is kept for the next process must not be recorded as completed.
        if let journal {
            services.append(
                self.controlService(dependencies, journal, scheduler, policies) { await endpoint.supportFiles() })
        }
        services += dependencies.notices + [DaemonService.trimming]
        services.append(DaemonService.atShutdown { dependencies.stop() })
        return Self.group(of: services)
    }

    private var endpointConfiguration: EndpointConfiguration {
        var configuration = self.settings.endpoint
        configuration.version = self.settings.version
        configuration.targetNames = self.monitorConfiguration.targetNames
        self.configuration.apply(to: &configuration)
        return configuration
    }

    // The daemon exits if it cannot listen.
    private func serve(_ endpoint: Endpoint, _ probes: ProbeRunner, _ dependencies: Dependencies) async throws {
        let logger = dependencies.logger
        try await endpoint.run { addresses in
            dependencies.start.listens()
            probes.listens(on: Set(addresses.map { UInt16(clamping: $0.port) }))
            for address in addresses { logger.info("listening", metadata: ["address": "\(address)"]) }
            guard let page = addresses.first?.page(isEncrypted: self.web?.access.isEncrypted ?? false) else { return }
            logger.info("open \(page)")
        }
    }

    // Reloads the configuration file on SIGHUP. Without a file there is no reloader.
    private func reloadOnHangup(_ reloader: ConfigurationReloader?, _ dependencies: Dependencies) async {
        for await _ in self.hangups.cancelOnGracefulShutdown() {
            guard let reloader else {
                dependencies.logger.info("no configuration file to reload")
                continue
            }
            dependencies.notify?.send(.reloading)
            // The log already reports its problems.
            _ = await reloader.reload()
            dependencies.notify?.send(.ready)
        }
    }

    private static func group(of services: [any Service]) -> ServiceGroup {
        var group = ServiceGroupConfiguration(
            services: services.map { .init(service: $0) }, gracefulShutdownSignals: [.sigterm, .sigint],
            // The group's log would contain the services with all their values, including secrets of the configuration.
            logger: Logger(label: "services") { _ in SwiftLogNoOpLogHandler() })
        // The watchdog terminates whatever remains; the group's own limit for cancellation would trap.
        group.maximumGracefulShutdownDuration = .seconds(8)
        return ServiceGroup(configuration: group)
    }

    // Clients leave half of the connections to the daemon itself.
    private func connectionLimit(hasModules: Bool) -> Int {
        let share = (DescriptorShortage.limit - DescriptorShortage.base) / 2 / self.settings.endpoint.listen.count
        return min(self.wantedConnections(hasModules: hasModules), max(4, share))
    }

    // Prometheus keeps a connection for every probed target, and one client may have a quarter of all connections.
    private func wantedConnections(hasModules: Bool) -> Int {
        hasModules ? 4 * self.settings.probes.maxConcurrent : self.settings.endpoint.maxConnections
    }

    private func probeRunner(_ monitor: Monitor) -> ProbeRunner {
        let settings = self.settings.probes
        var probes = self.configuration.probes
        (probes.timeoutOffset, probes.historyLimit) = (settings.timeoutOffset, settings.historyLimit)
        return ProbeRunner(probes, monitor: monitor)
    }

    private func controlService(
        _ dependencies: Dependencies, _ journal: Journal, _ scheduler: Scheduler, _ policies: TransferPolicies,
        supportFiles: @escaping @Sendable () async -> [String: String]
    ) -> DaemonService {
        let control = SessionControl(
            monitor: dependencies.monitor, notes: dependencies.notes, bodies: dependencies.bodies,
            limit: OpenTaskLimit(self.configuration.journal.maxOpenTasks) { journal.openTasks },
            state: StateDirectoryPath(path: self.settings.stateDirectory),
            directories: self.configuration.memberDirectories, policies: policies,
            nextRuns: { await scheduler.nextRuns })
        let (monitor, socket) = (dependencies.monitor, self.settings.controlSocket)
        let server = ControlServer(
            path: socket, descriptor: self.settings.controlDescriptor,
            // A quarter of the descriptors for connections; the endpoint has half of them.
            maxConnections: min(128, max(4, (DescriptorShortage.limit - DescriptorShortage.base) / 4)),
            control: control, bus: monitor.bus, time: dependencies.time,
            report: { [names = self.monitorConfiguration.targetNames] in
                let status = monitor.status
                return TargetsDocument.json(status, names: names)
                    .adding(status.uplinkMembers)
                    .adding(.init("diagnosis", monitor.diagnosis?.json ?? .null))
                    .adding(.init("quality", status.quality?.json(names: names) ?? .null))
                    .adding(
                        .init(
                            "observation",
                            (monitor.connectionObservation?.statistics ?? ConnectionStatistics()).observation))
            },
            connections: { [connections = monitor.connections] in await connections.report() },
            incidents: .init(
                record: dependencies.incidents.recorder, view: monitor, time: dependencies.time,
                targetNames: self.monitorConfiguration.targetNames),
            supportFiles: { [settings = self.settings] in
                await supportFiles().merging(settings.configurationTexts) { $1 }
            })
        return DaemonService {
            try await server.runUntilShutdown(socket: socket, dependencies.logger, dependencies.start)
        }
    }
}

extension PageHistoryStorage {
    // More than the page shows: some entries are slices of requests, and an entry can have several lines.
    private static let limit = 2000

    /// Stores the page's history in a journal.
    init(_ journal: Journal) {
        self.init(past: journal.history(newest: PageHistoryStorage.limit)) { journal.recordHistory(at: $0, $1) }
    }
}
