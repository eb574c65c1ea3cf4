internal import CCurl
internal import TidegateCore
internal import TidegateLoop

// The loop's side: libcurl acts on what is ready, and afterwards the client is informed of the results.
extension TransferEngine {
    // Progress is reported when bytes move, and no more than ten times a second. What could not be reported for that
    // reason is reported when it may be, so that the client needs no timer to see the end of a burst.
    private static let progressInterval = Duration.milliseconds(100)

    /// A descriptor of libcurl's, or a sink that was blocked, is ready.
    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        if let waiting = self.blocked.take(descriptor, on: self.loop) {
            for number in waiting { self.transfers[number]?.resume(.sink) }
            return
        }
        self.wakeUps += 1
        // A socket of which nothing is wanted may have been closed in this batch, and its number be anybody's by now.
        if !self.sockets.isWanted(descriptor) { self.sockets.apply(self.actions, on: self.loop) }
        let pool: ConnectionPool
        switch self.sockets.readiness(of: descriptor, on: self.loop) {
        case .stale: return
        case .unexpected(let generation):
            if let pool = self.pool(generation) { self.closeIdle(descriptor, of: pool) }
            return
        case .wanted(let generation):
            guard let wanted = self.pool(generation) else { return }
            pool = wanted
        }
        // Before libcurl writes the first byte.
        if events == .write { pool.callbacks.sockets.connected(descriptor) }
        self.guarding(pool, on: descriptor) { () throws(CurlError) in try pool.act(on: descriptor, events.selected) }
    }

    /// A timer is due; true if it was one of the engine's own.
    func timerFired(_ token: UInt64) -> Bool {
        guard let timer = EngineTimer(token: token) else { return false }
        self.wakeUps += 1
        switch timer {
        case .curl: self.timer.fired()
        // A timer that outlives its attempt finds nothing to resume, and nothing to report.
        case .rate(let number): self.transfers[number]?.resume(.rate)
        case .progress(let number):
            self.transfers[number]?.reports.hasProgressTimer = false
            if let transfer = self.transfers[number], transfer.request != nil { transfer.note(.progressDue) }
        }
        return true
    }

    /// Lets libcurl do what is due and informs the client; no call of libcurl's is under way when it does.
    func serve(_ client: some TransferClient) {
        // Every round serves what the round before asked for; the bound keeps other descriptors alive.
        for _ in 0..<8 {
            self.runDueTimers()
            self.collectFinished(client)
            self.deliverReports(client)
            guard self.isTimerDue else { return }
        }
    }

    /// Makes the loop watch and wait for what libcurl wants; the last thing in a batch.
    func endTurn() {
        var deadline: MonotonicTime?
        self.sockets.apply(self.actions, on: self.loop)
        self.scheduleProgress()
        for pool in self.connectionPools {
            pool.takeTimer(at: self.loop.now)
            if let next = pool.deadline { deadline = min(deadline ?? next, next) }
        }
        // What is left for now comes first in the next batch.
        if !self.queue.numbers.isEmpty { deadline = self.loop.now }
        self.timer.arm(at: deadline, on: self.loop)
    }

    /// Drops everything; nothing is reported.
    func shutDown() {
        for transfer in self.transfers.busy {
            if let id = transfer.request?.value.id { self.remove(transfer, id) }
        }
        self.beginPool()
    }

    private var isTimerDue: Bool {
        self.connectionPools.contains { pool in
            pool.takeTimer(at: self.loop.now)
            return pool.deadline.map { $0 <= self.loop.now } ?? false
        }
    }

    private func runDueTimers() {
        for pool in self.connectionPools {
            pool.takeTimer(at: self.loop.now)
            guard let deadline = pool.deadline, deadline <= self.loop.now else { continue }
            pool.callbacks.sockets.saveExpiring(at: self.loop.now)
            self.guarding(pool) { () throws(CurlError) in try pool.timeOut() }
        }
    }

    private func collectFinished(_ client: some TransferClient) {
        for pool in self.connectionPools {
            while let (number, code) = pool.nextDone() {
                guard let transfer = self.transfers[number] else { continue }
                guard !transfer.connection.isGivenUp else {
                    self.guarding(pool) { () throws(CurlError) in try pool.restart(transfer) }
                    continue
                }
                if pool.wasCut, code != CURLE_OK {
                    transfer.abort(.protocolError, "the server sent without an end what is read in one go")
                }
                // What came before the end is reported before the end; the client may drop the attempt meanwhile.
                if let id = self.report(transfer, to: client) { self.finish(transfer, id, code, client) }
            }
            pool.wasCut = false
        }
    }

    private func deliverReports(_ client: some TransferClient) {
        var index = 0
        while index < self.queue.numbers.count {
            if let transfer = self.transfers[self.queue.numbers[index]] { _ = self.report(transfer, to: client) }
            index += 1
        }
        self.queue.numbers.removeAll(keepingCapacity: true)
    }

    /// Reports to the client what a transfer has noted; the attempt's id if it is still running afterwards.
    private func report(_ transfer: CurlTransfer, to client: some TransferClient) -> AttemptID? {
        guard let id = transfer.request?.value.id else { return nil }
        let kinds = transfer.reports.take()
        guard !kinds.isEmpty else { return id }
        if kinds.contains(.wire) {
            if let lease = transfer.options.takeLease() { transfer.pool?.resolveCache.confirm(lease) }
            if let facts = transfer.connection.facts() {
                client.attempt(id, reported: .wireReached(facts))
                guard transfer.request?.value.id == id else { return nil }
            }
        }
        if kinds.contains(.head), let head = transfer.response.head.value {
            client.attempt(id, reported: .head(head))
            guard transfer.request?.value.id == id else { return nil }
        }
        if kinds.contains(.tryFailed) { transfer.tryNextAddress() }
        if kinds.contains(.blocked) { self.waitForSink(of: transfer) }
        if kinds.contains(.throttled) {
            let delay = transfer.throttle(at: self.loop.clock.monotonic()) ?? .zero
            _ = self.loop.schedule(after: delay, token: EngineTimer.rate(number: transfer.number).token)
        }
        if kinds.contains(.moved) { transfer.timestamps.lastActivity = self.loop.now }
        if !kinds.isDisjoint(with: [.moved, .progressDue]), let progress = self.newProgress(of: transfer) {
            client.attempt(id, reported: .progress(progress))
            guard transfer.request?.value.id == id else { return nil }
        }
        guard kinds.contains(.aborted) else { return id }
        self.finish(transfer, id, CURLE_ABORTED_BY_CALLBACK, client)
        return nil
    }

    private func finish(_ transfer: CurlTransfer, _ id: AttemptID, _ code: CURLcode, _ client: some TransferClient) {
        let outcome = OutcomeBuilder(transfer: transfer, code: code, loop: self.loop).build(self.progress(of: transfer))
        self.remove(transfer, id)
        client.attempt(id, reported: .finished(outcome))
    }

    /// A transfer's counters, with the moment on the client's clock.
    func progress(of transfer: CurlTransfer) -> AttemptProgress {
        var progress = transfer.progress()
        progress.lastActivity = self.loop.onSource(progress.lastActivity)
        return progress
    }

    private func waitForSink(of transfer: CurlTransfer) {
        guard case .descriptor(let descriptor)? = transfer.request?.value.sink else { return }
        do throws(LoopError) {
            try self.blocked.add(descriptor, transfer: transfer.number, on: self.loop)
        } catch {
            transfer.abort(.fileError, error.description)
            transfer.note(.aborted)
        }
    }

    // What to report of a transfer whose bytes have moved, or may have; nil for nothing now.
    private func newProgress(of transfer: CurlTransfer) -> AttemptProgress? {
        guard self.loop.now - transfer.reports.lastProgress >= TransferEngine.progressInterval else {
            self.unreported.append(transfer.number)
            return nil
        }
        let progress = self.progress(of: transfer)
        let bytes = progress.receivedWire + progress.received + progress.sent
        guard bytes != transfer.reports.reportedBytes else { return nil }
        transfer.reports.reportedBytes = bytes
        transfer.reports.lastProgress = self.loop.now
        // libcurl goes on sending what it has taken, without a callback.
        if progress.sent > 0, !transfer.response.head.isComplete { self.unreported.append(transfer.number) }
        return progress
    }

    // Sets a timer for the transfers whose progress may be reported only later; the last thing in a batch, because most
    // of those attempts are over by then.
    private func scheduleProgress() {
        for number in self.unreported {
            guard let transfer = self.transfers[number], transfer.request != nil, !transfer.reports.hasProgressTimer
            else { continue }
            transfer.reports.hasProgressTimer = true
            let due = transfer.reports.lastProgress + TransferEngine.progressInterval
            _ = self.loop.schedule(at: due, token: EngineTimer.progress(number: number).token)
        }
        self.unreported.removeAll(keepingCapacity: true)
    }
}

extension Loop.Interest {
    /// The same for curl_multi_socket_action(3).
    fileprivate var selected: Int32 {
        var selected: Int32 = 0
        if self.contains(.read) { selected |= CURL_CSELECT_IN }
        if self.contains(.write) { selected |= CURL_CSELECT_OUT }
        if self.contains(.error) || self.contains(.hangUp) { selected |= CURL_CSELECT_ERR }
        return selected
    }
}
