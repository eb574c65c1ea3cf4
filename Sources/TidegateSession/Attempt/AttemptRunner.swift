internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// Runs one attempt of a task: finds its addresses, launches it once the journal and its body allow that, pauses it.
struct AttemptRunner {
    let engine: TransferEngine
    let driver: TaskDriver
    let table: TaskTable
    let lookup: AddressLookup
    let pool: PoolGeneration
    let reports: AttemptReports
    let failures: FailureReporter
    let bodies: TaskBodies
    let delegate: DelegateDispatcher
    let journal: JournalWriter
    let requests: AttemptRequestFactory
    let pauseLimit: Duration

    // MARK: - Launching

    func start(_ record: TaskRecord) {
        guard let target = record.target else { return }
        self.pool.renewIfStale()
        let now = self.driver.now
        let id = AttemptID(task: record.number, attempt: record.machine.attempts)
        record.attempt.live = LiveAttempt(
            id: id, number: record.machine.attempts, tryNumber: record.attempt.beginTry(), started: now,
            knowing: target.known)
        record.task.shared.exchanges?.begin(
            Exchange(number: record.machine.attempts, of: record.hop, record.request, at: self.requests.wallTime))
        record.attempt.headers = nil
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
                var end = self.reports.abort(record, .resolveFailed, failure.message(for: target.target.shownHost))
                end.resolveFailure = failure
                ended.append((record, end))
            }
        }
        return ended
    }

    /// Starts the attempt on these addresses, once the journal has it and its body is there.
    func launch(_ record: TaskRecord, on addresses: [IPAddress]) {
        // Behind a proxy the addresses are the proxy's.
        if record.attempt.proxy == nil {
            do throws(RedirectError) {
                try RedirectRule.check(addresses, of: record.hop, policy: record.redirectPolicy)
            } catch {
                return self.cannotStart(record, error.failure, error.sentence)
            }
        }
        guard let live = record.live, !self.asksForHeaders(record, live, on: addresses),
            !self.asksForNewBody(record, live, on: addresses),
            self.journaledForSending(record, live, on: addresses)
        else { return }
        guard self.requests.canEvaluateTrust(record) else {
            let message =
                "the app cannot evaluate a server's certificates behind an https proxy; use an http or a SOCKS proxy"
            return self.cannotStart(record, .invalidRequest, message)
        }
        do {
            try self.bodies.checkUpload(record)
            let sink = try self.bodies.sink(of: record)
            let request = self.requests.make(record, live, addresses: addresses, sink: sink)
            try self.engine.start(request)
            live.pool = self.pool.current
            if let target = record.target {
                target.pooled.launched(knowing: target.known, generation: self.pool.current)
            }
            self.driver.touch(record)
        } catch let error as FileError where error.isDescriptorShortage && record.waitsForResources {
            _ = self.reports.abort(record, .internal, HoldReason.descriptors.description)
            self.bodies.waitForDescriptors(record)
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
        let end = self.reports.abort(record, failure, message)
        self.failures.publishFailure(record, end, failure, isCharged: false)
        if failure == .diskFull, record.waitsForResources { return self.bodies.waitForDisk(record, message) }
        self.failures.fail(record, failure, FailureSentence(message))
    }

    // MARK: - Fields

    // False if the attempt can go on as it is.
    private func asksForHeaders(_ record: TaskRecord, _ live: LiveAttempt, on addresses: [IPAddress]) -> Bool {
        guard record.attempt.headers == nil, let hook = self.delegate.hook(record.task, \.requestHeaders) else {
            return false
        }
        live.hook = .asked
        let (task, headers) = (record.task, self.requests.headers(record, of: record.hop))
        self.delegate.ask(record.ownDelegate, of: record.number, .headers(live.id, addresses)) {
            .headers(await hook(task, headers))
        }
        return true
    }

    /// A hook has given the fields that an attempt is to have.
    func launch(_ record: TaskRecord, _ live: LiveAttempt, with headers: [HTTPField], on addresses: [IPAddress]) {
        live.hook = .none
        record.clocks.bytesMoved(at: self.driver.now)
        do throws(TaskError) {
            try TaskRequest.check(headers)
        } catch {
            return self.cannotStart(record, .invalidRequest, error.underlying)
        }
        let hop = record.hop
        let offered = hop.keepsCredentials ? [] : self.requests.headers(record, of: hop)
        record.attempt.headers = headers.filter { field in
            hop.keepsCredentials || PortableFields.mayCrossOrigins(field.name) || offered.contains(field)
        }
        self.launch(record, on: addresses)
    }

    // MARK: - New bodies

    // False if the attempt can go on as it is.
    private func asksForNewBody(_ record: TaskRecord, _ live: LiveAttempt, on addresses: [IPAddress]) -> Bool {
        guard record.hop.keepsBody, let stream = record.uploadStream, !stream.isUntouched else { return false }
        guard let hook = self.delegate.hook(record.task, \.newBodyStream) else {
            self.launch(record, live, with: nil, on: addresses)
            return true
        }
        live.hook = .asked
        stream.stop(record.task.id)
        let task = record.task
        self.delegate.ask(record.ownDelegate, of: record.number, .newBody(live.id, addresses)) {
            .newBody(await hook(task))
        }
        return true
    }

    /// A hook has given another stream to send, or nil.
    func launch(_ record: TaskRecord, _ live: LiveAttempt, with stream: UploadStream?, on addresses: [IPAddress]) {
        live.hook = .none
        record.clocks.bytesMoved(at: self.driver.now)
        guard let stream, stream.isUntouched else {
            let message = "the body's stream has been read and would have to be sent once more"
            return self.cannotStart(record, .bodyChanged, message)
        }
        guard stream.claim(for: record.task.id) else {
            return self.cannotStart(record, .invalidRequest, "the stream for the request's body is another task's")
        }
        record.ownDelegate.bodyStream = stream
        self.launch(record, on: addresses)
    }

    // MARK: - Pauses and repetitions

    func pause(_ record: TaskRecord) {
        guard let live = record.live, live.isLaunched, self.engine.pause(live.id) else {
            return self.releaseConnection(record)
        }
        self.driver.schedule(.pause, of: record, after: self.pauseLimit)
    }

    func unpause(_ record: TaskRecord) {
        record.clocks.cancel(.pause)
        if let live = record.live { self.engine.unpause(live.id) }
    }

    /// Gives the connection of a suspended task back, if its request may be sent again.
    func releaseConnection(_ record: TaskRecord) {
        if self.mayAbort(record) { self.driver.feed(.releaseConnection, to: record) }
    }

    /// True if the attempt may be ended and another one made: neither its request nor its body comes twice.
    func mayAbort(_ record: TaskRecord) -> Bool { self.mayRepeat(record) && !self.isDeliveredForGood(record) }

    /// True if the attempt's request may be sent once more, and can be.
    func mayRepeat(_ record: TaskRecord) -> Bool {
        (record.request.isIdempotent || record.live?.contact == nil) && self.requests.canSendBody(record)
    }

    /// True if a part of the body has gone where it cannot be taken back from, and cannot be continued.
    func isDeliveredForGood(_ record: TaskRecord) -> Bool {
        guard record.isStream, record.download.partial.validator == nil, let live = record.live else { return false }
        let progress = self.engine.progress(of: live.id) ?? live.progress
        return record.download.partial.offset > 0 || progress.received > 0
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
