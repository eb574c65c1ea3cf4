internal import TidegateCore
internal import TidegateNetwork

/// What a watchkeeper is given for its whole life.
struct ReachabilityDependencies: Sendable {
    var configuration: ReachabilityConfiguration
    var bus: EventBus
    var resolver: any NameResolver
    var time: any TimeSource
    var resolverAddresses: @Sendable () -> [IPAddress]
    var evidence: PassiveEvidence
    /// Who asks the check URLs; nil where nobody does.
    var web: (any HTTPChecker)?

    /// True where the internet is looked for without being asked to.
    var checksInternet: Bool { self.configuration.internetCheck.isEnabled && self.web != nil }
}

/// What other threads ask of the watchkeeper.
enum ReachabilityCommand: Sendable {
    case watch(Target, id: UInt64, sink: @Sendable (TargetVerdict) -> Void)
    case unwatch(UInt64)
    case resolved(String, Result<[IPAddress], ResolveFailure>)
    case lasts(String, Duration)
    case resolversChanged
    case tellFirst(within: Duration, CheckedContinuation<Void, Never>)
    case look(CheckedContinuation<Duration, Never>)
    case survey(RouteQuery, CheckedContinuation<RouteReport, Never>)
    case remind(after: Duration, @Sendable () -> Void)
    case internetAnswered(AddressFamily, round: Int, Connectivity)
    case requestFailed
}

/// Keeps the watch on the netlink thread: hears the kernel, has it judged, and tells gates and people.
final class ReachabilityEngine: NetlinkDelegate {
    enum Timer: UInt64 {
        case evaluate, hold, safety, expiry, names, internet
    }

    static let firstWaiter: UInt64 = 1000
    private static let safetyInterval = Duration.seconds(12)
    private static let stormInterval = Duration.milliseconds(500)

    let kernel: NetlinkClient
    let parts: ReachabilityDependencies
    let board: ReachabilityStore
    var send: @Sendable (ReachabilityCommand) -> Bool = { _ in false }

    var pacer = EvaluationThrottle()
    var flaps = FlapCounter()
    var globalHold = VerdictDebouncer()
    var familyHolds: [AddressFamily: VerdictDebouncer] = [:]
    var book: TargetTable
    var resolverAddresses: [IPAddress] = []
    var resolverVerdict = Verdict.unknown
    var reducer: VerdictReducer?
    var internet: InternetMachine?
    var excluded: NamePatterns
    var metered: NamePatterns
    var isDirty = true
    var links: [UInt32: Link] = [:]
    /// The ways that people were last told of.
    var ways: [AddressFamily: NetworkPath] = [:]
    var timers: [Timer: NetlinkTimer] = [:]
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var reminders: [UInt64: @Sendable () -> Void] = [:]
    /// Gateways that somebody asked about lately.
    var watchedGateways: Set<NeighbourKey> = []
    var gatewaysWatchedUntil: MonotonicTime?
    var memory = NeighbourHistory()
    private var lastWaiter = ReachabilityEngine.firstWaiter
    var isReady = false
    var soonestExpiry: Duration?
    var isExpiryDoubtful = false
    var namesDeadline: MonotonicTime?
    var targetDeadline: MonotonicTime?

    init(kernel: NetlinkClient, parts: ReachabilityDependencies, board: ReachabilityStore) {
        self.kernel = kernel
        self.parts = parts
        self.board = board
        self.book = TargetTable(configured: parts.configuration.targets, asker: parts.configuration.asker)
        self.excluded = NamePatterns(parts.configuration.excludedInterfaces)
        self.metered = NamePatterns(parts.configuration.meteredInterfaces)
        guard parts.checksInternet else { return }
        self.internet = InternetMachine(interval: parts.configuration.internetCheck.interval)
    }

    func started(send: @escaping @Sendable (ReachabilityCommand) -> Bool) {
        self.send = send
        let order = self.book.entries.map(\.target)
        self.board.write { $0.targetOrder = order }
    }

    func kernelChanged(_ news: NetlinkChanges) {
        if news.isDirty { self.isDirty = true }
        for neighbour in news.neighbours { self.memory.heard(neighbour) }
        if news.isStateChanged || !self.isReady {
            self.evaluate(heardAt: nil)
        } else if news.isDirty {
            self.pace(isLoss: news.isLoss)
        } else if self.isHealthNews(news) {
            self.writeHealth()
        }
        if news.events.contains(where: \.isResumption) { self.wokeUp() }
        for event in news.events { self.parts.bus.publish(.netlink(event)) }
    }

    private func isHealthNews(_ news: NetlinkChanges) -> Bool {
        news.events.contains { event in
            switch event {
            case .overrun, .dumpInterrupted, .resynced, .receiveBuffer: true
            case .received, .malformed, .lookedUp, .modeChanged, .lost: false
            }
        }
    }

    private func pace(isLoss: Bool) {
        switch self.pacer.heard(at: self.kernel.now, isLoss: isLoss, isStorm: self.kernel.state == .connected(.storm)) {
        case .now: self.evaluate(heardAt: self.kernel.now)
        case .at(let moment): self.arm(.evaluate, at: moment)
        }
    }

    func receive(_ command: ReachabilityCommand) {
        switch command {
        case .watch(let target, let id, let sink): self.watch(target, id, sink)
        case .unwatch(let id): self.unwatch(id)
        case .resolved(let name, let result): self.resolved(name, result)
        case .lasts(let name, let life): self.lasts(name, for: life)
        case .resolversChanged: self.resolversChanged()
        case .tellFirst(let limit, let waiter): self.tellFirst(within: limit, waiter)
        case .look(let waiter):
            let start = self.kernel.moment
            self.lookAround()
            waiter.resume(returning: self.kernel.moment - start)
        case .survey(let question, let waiter): waiter.resume(returning: self.survey(question))
        case .remind(let delay, let body): self.remind(after: delay, body)
        case .internetAnswered(let family, let round, let found): self.internetAnswered(family, round: round, found)
        case .requestFailed: self.requestFailed()
        }
    }

    func timerFired(_ token: UInt64) {
        guard token < ReachabilityEngine.firstWaiter, let timer = Timer(rawValue: token) else {
            self.waiters.removeValue(forKey: token)?.resume()
            self.reminders.removeValue(forKey: token)?()
            return
        }
        self.timers[timer] = nil
        switch timer {
        case .evaluate: self.evaluate(heardAt: self.kernel.now)
        case .hold: self.settle()
        case .safety: self.lookAround()
        case .expiry: self.lookForExpiry()
        case .names: self.askDueNames()
        case .internet: self.checkInternet()
        }
    }

    /// Looks at everything that may have changed silently: routes, resolvers, a monitor socket that has died.
    private func lookAround() {
        let news = self.kernel.readMonitor()
        if !news.events.isEmpty { self.kernelChanged(news) }
        self.forgetGateways()
        self.readResolvers()
        self.evaluate(heardAt: nil)
    }

    func stopping() {
        for waiter in self.waiters.values { waiter.resume() }
        self.waiters = [:]
        for body in self.reminders.values { body() }
        self.reminders = [:]
    }

    // MARK: Timers

    func arm(_ timer: Timer, at moment: MonotonicTime) {
        if let old = self.timers[timer] { self.kernel.cancel(old) }
        self.timers[timer] = self.kernel.schedule(at: moment, token: timer.rawValue)
    }

    func disarm(_ timer: Timer) {
        if let old = self.timers.removeValue(forKey: timer) { self.kernel.cancel(old) }
    }

    // Nothing tells of every change; what no event told is found out by looking now and then.
    func armSafety() {
        switch self.kernel.state {
        case .connected(.once), .unavailable, .starting: return
        case .connected(.storm): self.arm(.safety, at: self.kernel.now + ReachabilityEngine.stormInterval)
        case .connected(.event), .connected(.poll):
            self.arm(.safety, at: self.kernel.now + ReachabilityEngine.safetyInterval)
        }
    }

    // MARK: Waiting for the first verdict

    private func tellFirst(within limit: Duration, _ waiter: CheckedContinuation<Void, Never>) {
        guard !self.isComplete else { return waiter.resume() }
        self.lastWaiter += 1
        self.waiters[self.lastWaiter] = waiter
        _ = self.kernel.schedule(at: self.kernel.now + limit, token: self.lastWaiter)
    }

    private func remind(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        self.lastWaiter += 1
        self.reminders[self.lastWaiter] = body
        _ = self.kernel.schedule(at: self.kernel.now + delay, token: self.lastWaiter)
    }

    func releaseWaiters() {
        guard !self.waiters.isEmpty, self.isComplete else { return }
        for waiter in self.waiters.values { waiter.resume() }
        self.waiters = [:]
    }

    private var isComplete: Bool { self.isReady && self.book.isSettled }
}

extension NetlinkEvent {
    /// True where everything was dumped because the machine has slept.
    fileprivate var isResumption: Bool {
        guard case .resynced(.resume, _) = self else { return false }
        return true
    }
}
