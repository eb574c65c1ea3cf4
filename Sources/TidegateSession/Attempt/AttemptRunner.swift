internal import TidegateCore
internal import TidegateTransfer

/// Runs one attempt of a task: finds its addresses, launches it, follows its reports, and closes its accounts.
final class AttemptRunner {
    let engine: TransferEngine
    let driver: TaskDriver
    private let table: TaskTable
    let lookup: AddressLookup
    let admission: AttemptAdmission
    let failures: FailureReporter
    let bodies: TaskBodies
    private let limits: ResourceLimits
    let delegate: DelegateDispatcher
    let journal: JournalWriter
    let requests: AttemptRequestFactory
    var batch = Batch()

    /// What has to be done before the thread waits.
    struct Batch {
        /// True if the connections of the current pool may lead nowhere.
        var poolIsStale = false
        /// Tasks whose response's head came.
        var withHead: [TaskRecord] = []
    }

    init(
        engine: TransferEngine, driver: TaskDriver, table: TaskTable, lookup: AddressLookup,
        admission: AttemptAdmission,
        failures: FailureReporter, bodies: TaskBodies, limits: ResourceLimits, delegate: DelegateDispatcher,
        journal: JournalWriter, requests: AttemptRequestFactory
    ) {
        self.engine = engine
        self.driver = driver
        self.table = table
        self.lookup = lookup
        self.admission = admission
        self.failures = failures
        self.bodies = bodies
        self.limits = limits
        self.delegate = delegate
        self.journal = journal
        self.requests = requests
    }

    // MARK: - Connection pools

    /// The connections of the current pool may lead nowhere: the next attempt begins a new one.
    func markPoolStale() { self.batch.poolIsStale = true }

    /// The generation of the current pool.
    var generation: Int { self.engine.poolGeneration }

    /// Begins the pool that a change has asked for, before anything else is started.
    func renewPoolIfStale() {
        guard self.batch.poolIsStale else { return }
        self.batch.poolIsStale = false
        self.engine.beginPool()
        self.lookup.networkChanged()
        self.driver.publisher.publish(.poolReplaced(number: self.engine.poolGeneration))
    }

    // MARK: - Launching

    func start(_ record: TaskRecord) {
        guard let target = record.target else { return }
        self.renewPoolIfStale()
        let now = self.driver.now
        let id = AttemptID(task: record.number, attempt: record.machine.attempts)
        record.attempt.live = LiveAttempt(
            id: id, number: record.machine.attempts, started: now, knowing: target.known)
        record.gate.wasReported = false
        record.gate.shut = nil
        record.clocks.attemptStarted(at: now)
        if record.result.started == nil { record.result.started = self.requests.wallTime }
        if let addresses = self.lookup.addresses(of: target, at: now) {
            self.launch(record, on: addresses)
        } else {
            self.lookup.awaitAddresses(record.number, &record.gate, of: target)
        }
    }

    /// A name was resolved, or could not be; gives the attempts that ended by that.
    func resolved(
        _ result: Result<[IPAddress], ResolveFailure>, lookup: Int, of target: TargetState
    ) -> [(TaskRecord, AttemptEnd)] {
        let waiting = self.lookup.resolved(result, lookup: lookup, of: target, at: self.driver.now)
        var ended: [(TaskRecord, AttemptEnd)] = []
        for number in waiting {
            guard let record = self.table[number], let live = record.live, !live.isLaunched else { continue }
            live.resolve = self.driver.now - live.started
            switch result {
            case .success(let addresses): self.launch(record, on: addresses)
            case .failure(let failure):
                var end = self.abort(record, .resolveFailed, failure.message(for: target.target.host))
                end.resolveFailure = failure
                ended.append((record, end))
            }
        }
        return ended
    }

    /// Starts the attempt on these addresses, once the journal has it and its body is there.
    func launch(_ record: TaskRecord, on addresses: [IPAddress]) {
        guard let live = record.live, !self.asksForNewBody(record, live, on: addresses),
            self.journaledForSending(record, live, on: addresses)
        else { return }
        do {
            try self.bodies.checkUpload(record)
            let sink = try self.bodies.sink(of: record)
            let request = self.requests.make(record, live, addresses: addresses, sink: sink)
            try self.engine.start(request)
            live.pool = self.engine.poolGeneration
            if let target = record.target {
                (target.connections.generation, target.connections.known) = (self.engine.poolGeneration, target.known)
            }
            self.driver.settle(record)
        } catch let error as FileError {
            self.cannotStart(record, error.failure, self.bodies.message(for: error, record))
        } catch {
            self.cannotStart(record, .invalidRequest, "\(error)")
        }
    }

    private func journaledForSending(_ record: TaskRecord, _ live: LiveAttempt, on addresses: [IPAddress]) -> Bool {
        guard let state = record.journal else { return true }
        return self.journal.mayReachWire(state, of: record.task, attempt: live.id, on: addresses)
    }

    // Nothing was sent, so nothing is charged.
    private func cannotStart(_ record: TaskRecord, _ failure: TaskFailure, _ message: String) {
        let end = self.abort(record, failure, message)
        self.failures.publishFailure(record, end, failure, isCharged: false)
        if failure == .diskFull, self.limits.areWaitedOut(by: record) {
            return self.limits.waitForDisk(record, message)
        }
        self.failures.fail(record, failure, message)
    }

    // MARK: - New bodies

    // False if the attempt can go on as it is.
    private func asksForNewBody(_ record: TaskRecord, _ live: LiveAttempt, on addresses: [IPAddress]) -> Bool {
        guard record.hop.keepsBody, let stream = record.uploadStream, !stream.isUntouched else { return false }
        guard let hook = self.delegate.hook(record.task, \.newBodyStream) else {
            self.launch(record, live, with: nil, on: addresses)
            return true
        }
        live.hooks.isDeciding = true
        stream.stop()
        let task = record.task
        self.delegate.ask(record.ownDelegate, of: record.number, .newBody(live.id, addresses)) {
            .newBody(await hook(task))
        }
        return true
    }

    /// A hook has given another stream to send, or nil.
    func launch(_ record: TaskRecord, _ live: LiveAttempt, with stream: UploadStream?, on addresses: [IPAddress]) {
        live.hooks.isDeciding = false
        record.clocks.bytesMoved(at: self.driver.now)
        guard let stream, stream.isUntouched else {
            let message = "the body's stream has been read and would have to be sent once more"
            return self.cannotStart(record, .bodyChanged, message)
        }
        record.ownDelegate.bodyStream = stream
        self.launch(record, on: addresses)
    }
}

extension ResolveFailure {
    fileprivate func message(for host: String) -> String {
        switch self {
        case .nameNotFound: "the name \(host) does not exist or has no address"
        case .timedOut: "no name resolver answered about \(host) in time"
        case .failed: "the name resolver failed about \(host)"
        }
    }
}
