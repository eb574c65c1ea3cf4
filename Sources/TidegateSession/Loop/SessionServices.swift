internal import TidegateCore
internal import TidegateTransfer

/// The components of a session that the others are made of, each with what it needs.
struct SessionServices {
    let table: TaskTable
    let driver: TaskDriver
    let gate: PathGate
    let lookup: AddressLookup
    let failures: FailureReporter
    let origins: OriginGuard
    let admission: AttemptAdmission
    let journal: JournalWriter
    let delegate: DelegateDispatcher
    let bodies: TaskBodies
    let limits: ResourceLimits
    let requests: AttemptRequestFactory

    init(_ engine: TransferEngine, _ given: SessionDependencies) {
        let (configuration, mailbox) = (given.configuration, given.mailbox)
        let proxy = configuration.proxy.flatMap { try? HTTPURL($0) }
        self.table = TaskTable(
            registry: given.registry, gate: configuration.gate, retry: configuration.retry)
        self.driver = TaskDriver(
            engine: engine, publisher: EventPublisher(bus: given.bus, subscribers: mailbox.events),
            timers: TaskTimers(engine, self.table))
        self.gate = PathGate(paths: given.paths, timers: engine) { mailbox.send(.gate(target: $0, $1)) }
        self.lookup = AddressLookup(gate: self.gate, paths: given.paths, resolver: given.resolver) {
            mailbox.send(.gate(target: $0, $1))
        }
        self.failures = FailureReporter(driver: self.driver, gate: self.gate)
        self.origins = OriginGuard(
            driver: self.driver, table: self.table, failures: self.failures,
            controller: RetryController(
                circuit: configuration.circuit, budget: configuration.budget,
                countsBudgets: configuration.reportsRetryTokens, random: given.random),
            random: given.random)
        self.admission = AttemptAdmission(
            driver: self.driver, table: self.table, gate: self.gate, failures: self.failures, origins: self.origins,
            configuration: configuration, proxy: proxy, random: given.random)
        self.journal = JournalWriter(given.journal, time: given.time) { mailbox.send(.journal($0, $1)) }
        self.delegate = DelegateDispatcher(hooks: given.hooks, observer: given.observer) {
            mailbox.send(.delegate($0, $1))
        }
        self.bodies = TaskBodies(
            driver: self.driver, failures: self.failures,
            writer: DownloadWriter(disk: given.disk) { mailbox.send(.disk($0, $1)) }, journal: self.journal
        ) { mailbox.send(.stream($0, $1)) }
        self.limits = ResourceLimits(
            driver: self.driver, origins: self.origins, bodies: self.bodies, journal: self.journal,
            configuration: configuration, random: given.random)
        self.requests = AttemptRequestFactory(
            configuration: configuration, proxy: proxy, time: given.time, bodies: self.bodies, delegate: self.delegate)
    }
}

extension TransferEngine: TimerQueue {}
