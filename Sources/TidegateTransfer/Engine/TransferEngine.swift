internal import CCurl
internal import CLinux
internal import Glibc
package import TidegateCore
package import TidegateLoop

/// Runs attempts over libcurl.
///
/// Belongs to the thread of a ``TransferThread`` and never leaves it.
package final class TransferEngine {
    let loop: Loop
    let queue = ReportQueue()
    var transfers = TransferTable()
    var sockets = SocketTable()
    let actions: SocketActions
    let watchdog = CallWatchdog()
    /// The loop's only timer for libcurl and its deadline; it is moved only if it would fire too late.
    ///
    /// libcurl requests another moment with every transfer, usually a later one: firing once too early costs less than
    /// following each request.
    private var curlTimer: (id: TimerID, deadline: MonotonicTime)?
    var blocked = BlockedDescriptors()
    /// Numbers of transfers that need a timer for their next progress report: the last report is too recent, or libcurl
    /// is still sending what it has taken.
    var unreported: [Int] = []
    /// The current pool (last) and older ones that still have transfers.
    var connectionPools: [ConnectionPool] = []

    /// The generation of the pool for new attempts, from 1.
    package internal(set) var poolGeneration = 1
    /// How often libcurl's sockets and timers woke the thread.
    package internal(set) var wakeUps = 0

    init(loop: Loop, own: OwnSockets? = nil) {
        self.loop = loop
        self.actions = SocketActions(own: own)
    }

    /// The start of the current batch of events, on the clock of the client's timers.
    package var now: MonotonicTime { self.loop.timeSourceNow }

    /// The connections of all pools: in use by an attempt, and kept for reuse.
    package var connections: (active: Int, idle: Int) {
        let active = self.transfers.busy.count { $0.connection.usesConnection }
        return (active, max(0, self.sockets.openCount - active))
    }

    /// Starts an attempt.
    ///
    /// Errors on the wire are reported, never thrown.
    ///
    /// - Throws: if libcurl rejects the request (an invalid URL, a TLS option that it was built without) or the attempt
    ///   is already running. Nothing was started then, and nothing will be reported.
    package func start(_ request: Indirect<AttemptRequest>) throws(CurlError) {
        let pool = try self.currentPool()
        let transfer = try self.transfers.take(for: request.value.id, queue: self.queue, clock: self.loop.clock)
        do throws(CurlError) {
            transfer.begin(request)
            try transfer.options.configure(transfer, request, pool, at: self.loop.now)
            if transfer.openFiles(request) { try pool.add(transfer) }
        } catch {
            self.transfers.release(transfer, of: request.value.id)
            throw error
        }
    }

    /// Pauses reading and writing.
    ///
    /// False if no connection exists yet or the protocol is HTTP/2: the attempt continues, and must be discarded to
    /// stop it.
    package func pause(_ id: AttemptID) -> Bool { self.transfers[id]?.pauseByClient() ?? false }

    /// Resumes after ``pause(_:)``; bytes waiting in libcurl reach the sink immediately.
    ///
    /// Ignored if not paused.
    package func unpause(_ id: AttemptID) { self.transfers[id]?.resume(.client) }

    /// Reports that an attempt's ``ChunkSink`` has room again; ignored if the attempt has ended or is not blocked.
    package func sinkHasRoom(_ id: AttemptID) { self.transfers[id]?.resume(.sink) }

    /// Reports that an attempt's ``ChunkSource`` has bytes or has ended; ignored if the attempt has ended or is not
    /// waiting.
    package func sourceHasBytes(_ id: AttemptID) { self.transfers[id]?.resume(.source) }

    /// Lets an attempt receive its body after the report of its head, into `sink` if given.
    ///
    /// Ignored if the attempt has ended.
    package func proceed(_ id: AttemptID, into sink: BodySink? = nil) { self.transfers[id]?.proceed(into: sink) }

    /// Ends an attempt, which is reported as finished with the data received so far.
    ///
    /// Ignored if it has already ended.
    package func end(_ id: AttemptID, as failure: TaskFailure, _ text: String) {
        self.transfers[id]?.end(as: failure, text)
    }

    /// Drops an attempt: its connection is closed, nothing more is sent, and nothing is reported.
    ///
    /// The connection is never shut down in flight. The data in the sink stays. Ignored if the attempt has ended.
    package func discard(_ id: AttemptID) {
        if let transfer = self.transfers[id] { self.remove(transfer, id) }
    }

    /// The counters of a running attempt; nil if it has ended.
    package func progress(of id: AttemptID) -> AttemptProgress? { self.transfers[id].map(self.progress) }

    /// The unfinished connect of a running attempt that has come furthest so far; nil if it is connected or has ended.
    package func failedConnect(of id: AttemptID) -> FailedConnect? {
        guard let transfer = self.transfers[id], !transfer.connection.isConnected else { return nil }
        return transfer.furthestFailedConnect()
    }

    /// Whether a running attempt has a TCP connection.
    package func isConnected(_ id: AttemptID) -> Bool { self.transfers[id]?.connection.isConnected ?? false }

    /// Starts a new pool: new attempts share no connection and no address with older ones.
    ///
    /// Idle connections are closed now, busy ones when their attempts end.
    package func beginPool() {
        self.poolGeneration += 1
        let old = self.connectionPools
        for pool in old { self.retire(pool) }
    }

    /// Schedules a timer; `token`, below 2^63, comes back in ``TransferClient/timerFired(_:)``.
    package func schedule(at deadline: MonotonicTime, token: UInt64) -> TimerID {
        self.loop.scheduleOnTimeSource(at: deadline, token: token)
    }

    /// Schedules a timer that fires `delay` after the current batch began.
    package func schedule(after delay: Duration, token: UInt64) -> TimerID {
        self.loop.scheduleOnTimeSource(at: self.now + delay, token: token)
    }

    /// Cancels a timer.
    package func cancel(_ timer: TimerID) { self.loop.cancelOnTimeSource(timer) }

    // Connection pools: the current one, and older ones that attempts still use.

    func currentPool() throws(CurlError) -> ConnectionPool {
        if let last = self.connectionPools.last, last.generation == self.poolGeneration { return last }
        let pool = try ConnectionPool(
            generation: self.poolGeneration, actions: self.actions, record: self.watchdog.record)
        self.connectionPools.append(pool)
        return pool
    }

    /// Removes an attempt from libcurl and frees its transfer.
    func remove(_ transfer: CurlTransfer, _ id: AttemptID) {
        let pool = transfer.pool
        if let pool {
            self.guarding(pool) { () throws(CurlError) in try pool.remove(transfer) }
            for descriptor in pool.sockets.forget(transfer) { pool.abandoned(descriptor) }
        }
        if case .descriptor(let descriptor)? = transfer.request?.value.sink, transfer.pause.contains(.sink) {
            self.blocked.drop(transfer.number, from: descriptor, on: self.loop)
        }
        self.transfers.release(transfer, of: id)
        if let pool, pool.generation != self.poolGeneration { self.retire(pool) }
    }

    /// The pool of a generation; nil if it was closed.
    func pool(_ generation: Int) -> ConnectionPool? { self.connectionPools.first { $0.generation == generation } }

    /// Closes an idle connection on which data arrived.
    ///
    /// libcurl would treat unrequested bytes as the answer to the next request: a smuggled response, or a 408 sent
    /// before the server closes.
    func closeIdle(_ descriptor: Int32, of pool: ConnectionPool) {
        guard let port = SocketAddress.localPort(of: descriptor), !self.busyPorts(of: pool).contains(port) else {
            return
        }
        IdleSocket.end(descriptor)
    }

    // libcurl reports a running transfer's local port before its socket.
    private func busyPorts(of pool: ConnectionPool) -> Set<UInt16> {
        Set(self.transfers.busy.filter { $0.pool === pool }.map(\.connection.localPort))
    }

    /// Closes the connections that an old pool no longer needs.
    func retire(_ pool: ConnectionPool) {
        self.sockets.apply(self.actions, on: self.loop)
        if pool.running == 0 {
            self.connectionPools.removeAll { $0 === pool }
            pool.close()
            self.sockets.apply(self.actions, on: self.loop)
            return
        }
        // A paused transfer's socket is unwatched like an idle one. It must not be shut down in flight, because its
        // body would end early and look complete.
        let busy = self.busyPorts(of: pool)
        for descriptor in self.sockets.unwatched(of: pool.generation) {
            guard let port = SocketAddress.localPort(of: descriptor), !busy.contains(port) else { continue }
            shutdown(descriptor, Int32(SHUT_RDWR))
            self.sockets.markDead(descriptor)
        }
    }

    /// Calls libcurl; an error of the call makes the pool unusable: its attempts fail, and the next attempt gets a new
    /// pool.
    func guarding(_ pool: ConnectionPool, on descriptor: Int32? = nil, _ body: () throws(CurlError) -> Void) {
        do throws(CurlError) {
            if try self.watchdog.watching(descriptor, of: pool.generation, body) { pool.wasCut = true }
        } catch {
            for transfer in self.transfers.busy where transfer.pool === pool {
                transfer.end(as: .internal, error.description)
            }
            if pool.generation == self.poolGeneration { self.poolGeneration += 1 }
        }
    }

    // The loop's side: libcurl handles the ready descriptors first; then the client is informed of the results.

    // Progress is reported when bytes move, at most ten times a second. A report that was held back follows when it
    // may, so that the client needs no timer to see the end of a burst.
    private static let progressInterval = Duration.milliseconds(100)

    /// Handles a ready descriptor of libcurl, or a sink that was blocked.
    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        if let waiting = self.blocked.take(descriptor, on: self.loop) {
            for number in waiting { self.transfers[number]?.resume(.sink) }
            return
        }
        self.wakeUps += 1
        // This batch may have closed an unwatched socket, and its number may belong to another file by now.
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
        if events == .write { pool.sockets.connected(descriptor) }
        self.guarding(pool, on: descriptor) { () throws(CurlError) in try pool.act(on: descriptor, events.selected) }
    }

    /// Handles a due timer; true if it was one of the engine's own.
    func timerFired(_ token: UInt64) -> Bool {
        guard let timer = EngineTimer(token: token) else { return false }
        self.wakeUps += 1
        switch timer {
        case .curl: self.curlTimer = nil
        // A timer that outlives its attempt has nothing to resume or report.
        case .rate(let number): self.transfers[number]?.resume(.rate)
        case .progress(let number):
            self.transfers[number]?.reports.hasProgressTimer = false
            if let transfer = self.transfers[number], transfer.request != nil { transfer.note(.progressDue) }
        }
        return true
    }

    /// Lets libcurl do its due work, then informs the client outside of any call of libcurl.
    func serve(_ client: some TransferClient) {
        // Each round serves the requests of the previous one; the bound keeps other descriptors from starving.
        for _ in 0..<8 {
            self.runDueTimers()
            self.collectFinished(client)
            self.deliverReports(client)
            guard self.isTimerDue else { return }
        }
    }

    /// Registers with the loop what libcurl waits for; called last in a batch.
    func endTurn() {
        var deadline: MonotonicTime?
        self.sockets.apply(self.actions, on: self.loop)
        self.scheduleProgress()
        for pool in self.connectionPools {
            pool.takeTimer(at: self.loop.now)
            if let next = pool.deadline { deadline = min(deadline ?? next, next) }
        }
        // Remaining work comes first in the next batch.
        if !self.queue.numbers.isEmpty { deadline = self.loop.now }
        guard let deadline else { return }
        if let armed = self.curlTimer {
            guard deadline < armed.deadline else { return }
            self.loop.cancel(armed.id)
        }
        self.curlTimer = (self.loop.schedule(at: deadline, token: EngineTimer.curl.token), deadline)
    }

    /// Drops all attempts; nothing is reported.
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
            pool.sockets.saveExpiring(at: self.loop.now)
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
                    transfer.abort(.protocolError, CallWatchdog.finding)
                }
                // Data received before the end is reported first; the client may drop the attempt in response.
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

    /// Reports a transfer's pending reports to the client; returns the attempt's id if it is still running afterwards.
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
            transfer.end(as: .fileError, error.description)
        }
    }

    // The progress to report of a transfer whose bytes may have moved; nil for no report now.
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
        // libcurl keeps sending what it has taken, without a callback.
        if progress.sent > 0, !transfer.response.head.isComplete { self.unreported.append(transfer.number) }
        return progress
    }

    // Sets a timer for the transfers whose progress may only be reported later. It is called last in a batch, because
    // most of those attempts have ended by then.
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
    /// The events for curl_multi_socket_action(3).
    fileprivate var selected: Int32 {
        var selected: Int32 = 0
        if self.contains(.read) { selected |= CURL_CSELECT_IN }
        if self.contains(.write) { selected |= CURL_CSELECT_OUT }
        if self.contains(.error) || self.contains(.hangUp) { selected |= CURL_CSELECT_ERR }
        return selected
    }
}
