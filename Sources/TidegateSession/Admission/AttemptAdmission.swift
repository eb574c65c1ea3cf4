internal import TidegateCore
internal import TidegateTransfer

/// Leads a runnable task to its attempt: past what its server asked for, its origin's circuit, its gate, and to a
/// connection; or holds it for one of them.
final class AttemptAdmission {
    private let driver: TaskDriver
    private let table: TaskTable
    private let gate: PathGate
    private let failures: FailureReporter
    private let origins: OriginGuard
    private let bodies: TaskBodies
    /// The proxy of tasks that have none of their own.
    private let proxy: ProxyPolicy
    /// What tasks trust that have no policy of their own.
    private let tls: ServerTrustPolicy
    private let random: RandomSource
    private var limiter: ConnectionLimiter
    /// True once the session is to be invalidated: no attempt starts any more.
    var isDraining = false

    init(
        driver: TaskDriver, table: TaskTable, gate: PathGate, failures: FailureReporter, origins: OriginGuard,
        bodies: TaskBodies, configuration: SessionConfiguration, random: RandomSource
    ) {
        self.driver = driver
        self.table = table
        self.gate = gate
        self.failures = failures
        self.origins = origins
        self.bodies = bodies
        self.proxy = configuration.proxy
        self.tls = configuration.tls
        self.random = random
        self.limiter = ConnectionLimiter(
            perOrigin: configuration.maxConnectionsPerHost, inAll: configuration.maxConnections)
    }

    /// A task is runnable: admits it, or holds it.
    func seek(_ record: TaskRecord) {
        guard self.bodies.prepare(record) else { return }
        if self.isDraining { return self.driver.feed(.hold(.drain, detail: nil), to: record) }
        let url = record.hop.url
        if let problem = (record.request.tls ?? self.tls).refusal(of: url) {
            let failure: TaskFailure = record.attempt.redirects > 0 ? .redirectRefused : .invalidRequest
            return self.failures.fail(record, failure, FailureSentence(problem, of: url.textWithoutQuery))
        }
        record.attempt.proxy = (record.request.proxy ?? self.proxy).proxy(for: url)
        let state = self.gate.attach(record.number, &record.gate, to: record.attempt.proxy?.target ?? url.target)
        if self.origins.holds(record) { return }
        guard record.gatePolicy.isOpen || state.known != nil else {
            return self.gate.awaitVerdict(record.number, &record.gate, at: state)
        }
        switch self.gate.evaluate(record.gatePolicy, at: state) {
        case .open: self.passGate(record)
        case .shut(let shut):
            self.wait(record, at: state, for: shut)
            self.driver.feed(.hold(shut.reason, detail: shut.message), to: record)
        }
    }

    func stopSeeking(_ record: TaskRecord) {
        if record.retry.probing != nil, !record.machine.isHeld(for: .concurrency) { self.origins.leaveProbe(record) }
        self.gate.stopAwaitingVerdict(record.number, record.gate)
        self.releaseConnection(record)
    }

    func wait(_ record: TaskRecord, at state: TargetState, for shut: GateEvaluator.Shut) {
        self.gate.wait(record.number, &record.gate, at: state, for: shut, now: self.driver.now)
    }

    private func passGate(_ record: TaskRecord) {
        self.failures.leaveGate(record, record.gate.waitBegan == nil ? .immediate : .delayed)
        if record.attempt.hasConnection
            || self.limiter.join(record.number, record.origin, priority: record.request.priority)
        {
            record.attempt.hasConnection = true
            self.driver.feed(.admit, to: record)
        } else {
            self.driver.feed(.hold(.concurrency, detail: nil), to: record)
        }
    }

    // MARK: - Connections

    /// Lets others have what the task waited for.
    func stopWaitingForConnection(_ record: TaskRecord) { self.limiter.withdraw(record.number) }

    func releaseConnection(_ record: TaskRecord) {
        guard record.attempt.hasConnection else { return }
        record.attempt.hasConnection = false
        self.limiter.leave(record.origin)
        self.admitWaiting()
    }

    private func admitWaiting() {
        while let number = self.limiter.next() {
            guard let record = self.table[number] else { continue }
            self.driver.feed(.release(.concurrency), to: record)
            record.attempt.hasConnection = record.machine.phase == .seeking
            // Suspended or held meanwhile: another task gets the connection.
            if !record.attempt.hasConnection { self.limiter.leave(record.origin) }
        }
    }

    // MARK: - Open gates

    /// The verdict of a target, or something else that its gates go by, has changed.
    func evaluateWaiting(at state: TargetState) {
        for number in self.gate.takeAwaitingVerdict(of: state) {
            guard let record = self.table[number], record.machine.phase == .seeking else { continue }
            self.seek(record)
            self.driver.touch(record)
        }
        var opened: [TaskRecord] = []
        for number in state.waiting.all {
            guard let record = self.table[number] else { continue }
            switch self.gate.evaluate(record.gatePolicy, at: state) {
            case .open: opened.append(record)
            case .shut(let shut): self.changeHold(record, to: shut)
            }
        }
        self.release(opened, from: state)
    }

    // The gate stays shut, but for another kind of reason.
    private func changeHold(_ record: TaskRecord, to shut: GateEvaluator.Shut) {
        guard let old = record.gate.shut, old.reason != shut.reason else { return record.gate.shut = shut }
        record.gate.shut = shut
        self.driver.feed(.hold(shut.reason, detail: shut.message), to: record)
        self.driver.feed(.release(old.reason), to: record)
    }

    // One task goes first; the others follow spread over a time that grows with their number.
    private func release(_ records: [TaskRecord], from state: TargetState) {
        guard !records.isEmpty else { return }
        let ordered = records.sorted { $0.request.priority > $1.request.priority }
        let numbers = ordered.map(\.number)
        for number in numbers { state.waiting.remove(number) }
        for number in state.canary.release(numbers) {
            guard let record = self.table[number], !record.machine.isHeld(for: .schedule) else { continue }
            self.driver.feed(.hold(.schedule, detail: "spread after an outage"), to: record)
            state.canary.follow(number)
        }
        if state.canary.isWaitedFor() { self.gate.schedule(.canary, of: state, after: .seconds(1)) }
        for record in ordered {
            for reason in [HoldReason.path, .constraint] where record.machine.isHeld(for: reason) {
                self.driver.feed(.release(reason), to: record)
            }
        }
    }

    // MARK: - The canary

    /// The canary got through: release the others, each after a random delay.
    func releaseFollowers(of state: TargetState) {
        let followers = state.canary.finish()
        self.gate.cancel(.canary, of: state)
        guard !followers.isEmpty else { return }
        for (number, delay) in zip(followers, self.random.staggeredDelays(followers.count)) {
            guard let record = self.table[number], record.machine.isHeld(for: .schedule) else { continue }
            self.driver.schedule(.schedule, of: record, after: delay)
            self.driver.timers.update(record, at: self.driver.now)
        }
    }

    /// The canary has a connection.
    func connected(_ record: TaskRecord) {
        if let state = record.target, state.canary.leader == record.number { self.releaseFollowers(of: state) }
    }

    /// An attempt is over: if it was a canary's and had no connection, the others go on waiting, longer each time, and
    /// another one goes first.
    func attemptEnded(_ end: AttemptEnd, _ record: TaskRecord) {
        guard let state = record.target, state.canary.leader == record.number else { return }
        guard end.failure != nil, !end.reachedWire, !state.canary.followers.isEmpty else {
            return self.releaseFollowers(of: state)
        }
        let bound = state.canary.leaderFailed()
        let delay = self.random.draw { Backoff.random(upTo: bound, using: &$0) }
        self.gate.cancel(.canary, of: state)
        self.gate.schedule(.canary, of: state, after: max(.milliseconds(50), delay))
    }

    /// The canary has taken too long, or it is the next one's turn.
    func canaryDue(of state: TargetState) {
        guard state.canary.isBetweenLeaders else { return self.releaseFollowers(of: state) }
        while let number = state.canary.nextFollower() {
            guard let record = self.table[number] else { continue }
            guard record.machine.isHeld(for: .schedule), !record.machine.isSuspended else {
                self.driver.feed(.release(.schedule), to: record)
                continue
            }
            state.canary.lead(number)
            self.gate.schedule(.canary, of: state, after: .seconds(1))
            return self.driver.feed(.release(.schedule), to: record)
        }
        self.releaseFollowers(of: state)
    }
}
