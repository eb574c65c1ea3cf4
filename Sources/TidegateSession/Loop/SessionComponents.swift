internal import TidegateCore
internal import TidegateTransfer

/// What a session's loop is given by the session.
struct SessionDependencies: Sendable {
    let configuration: SessionConfiguration
    let bus: EventBus
    let paths: any PathSource
    let resolver: any NameResolver
    let time: any TimeSource
    let random: RandomSource
    let disk: DiskThread
    let mailbox: Mailbox
    let registry: TaskRegistry
    let journal: (any JournalStorage)?
    let hooks: SessionHooks?
    let observer: TaskObserver?
    let tracer: (any TaskTracer)?
    /// What the latest diagnosis of the host found over a family; nil if none was made lately.
    let diagnosis: @Sendable (AddressFamily) -> SilenceEvidence?
}

/// The components of a session that the others are made of, each made with those it needs.
struct SessionComponents {
    let table: TaskTable
    let driver: TaskDriver
    let journal: JournalWriter
    let delegate: DelegateDispatcher
    let gate: PathGate
    let lookup: AddressLookup
    let failures: FailureReporter
    let origins: OriginGuard
    let bodies: TaskBodies
    let admission: AttemptAdmission
    let requests: AttemptRequestFactory
    let revalidator: ResponseRevalidator

    init(_ engine: TransferEngine, _ given: SessionDependencies) {
        let (configuration, mailbox) = (given.configuration, given.mailbox)
        self.table = TaskTable(registry: given.registry, configuration: configuration)
        self.driver = TaskDriver(
            engine: engine, publisher: EventPublisher(bus: given.bus, subscribers: mailbox.events),
            timers: TaskTimers(engine, self.table))
        self.journal = JournalWriter(journal: given.journal, time: given.time) { mailbox.send(.journal($0, $1)) }
        self.delegate = DelegateDispatcher(hooks: given.hooks, observer: given.observer) {
            mailbox.send(.delegate($0, $1))
        }
        self.gate = PathGate(paths: given.paths, timers: engine) { mailbox.send(.gate(target: $0, $1)) }
        self.lookup = AddressLookup(gate: self.gate, paths: given.paths, resolver: given.resolver) {
            mailbox.send(.gate(target: $0, $1))
        }
        self.failures = FailureReporter(driver: self.driver, gate: self.gate, diagnosis: given.diagnosis)
        self.origins = OriginGuard(
            driver: self.driver, table: self.table, failures: self.failures, journal: self.journal,
            controller: RetryController(
                circuit: configuration.circuit, budget: configuration.budget,
                countsBudgets: configuration.reportsRetryTokens, random: given.random),
            random: given.random)
        self.bodies = TaskBodies(
            driver: self.driver, failures: self.failures,
            writer: DownloadWriter(disk: given.disk) { mailbox.send(.disk($0, $1)) }, journal: self.journal,
            random: given.random, diskRecheck: configuration.diskRecheck
        ) { mailbox.send(.stream($0, $1)) }
        self.admission = AttemptAdmission(
            driver: self.driver, table: self.table, gate: self.gate, failures: self.failures, origins: self.origins,
            bodies: self.bodies, configuration: configuration, random: given.random)
        self.revalidator = ResponseRevalidator(
            store: configuration.validators, disk: given.disk, driver: self.driver
        ) { mailbox.send(.disk($0, $1)) }
        self.requests = AttemptRequestFactory(
            configuration: configuration, time: given.time, bodies: self.bodies, delegate: self.delegate,
            random: given.random, revalidator: self.revalidator)
    }
}

extension TransferEngine: TimerQueue {}
