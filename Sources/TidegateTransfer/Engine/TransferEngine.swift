internal import CCurl
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
    var timer = CurlTimer()
    var blocked = BlockedDescriptors()
    /// Numbers of transfers that need a timer for their next report of progress: the last report is too recent, or
    /// libcurl still sends what it has taken.
    var unreported: [Int] = []
    /// Those with transfers, and the current one; the newest last.
    var connectionPools: [ConnectionPool] = []

    /// The generation of the connections that new attempts use, from 1.
    package internal(set) var poolGeneration = 1
    /// How often libcurl's sockets and timers woke the thread.
    package internal(set) var wakeUps = 0

    init(loop: Loop, own: OwnSockets? = nil) {
        self.loop = loop
        self.actions = SocketActions(own: own)
    }

    /// The moment the current batch of events began, on the clock of the client's timers.
    package var now: MonotonicTime { self.loop.timeSourceNow }

    /// Connections of all pools: in use by an attempt, and kept for reuse.
    package var connections: (active: Int, idle: Int) {
        let active = self.transfers.busy.count { $0.connection.usesConnection }
        return (active, max(0, self.sockets.openCount - active))
    }

    /// Starts an attempt.
    ///
    /// What goes wrong on the wire is reported, never thrown.
    ///
    /// - Throws: if libcurl refuses the request (a bad URL, a TLS option it was not built with) or the attempt is
    ///   running already; nothing was started then and nothing will be reported.
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

    /// Stops reading and writing.
    ///
    /// False if there is no connection yet to be kept, or the protocol is HTTP/2: the attempt runs on, and has to be
    /// discarded to stop it.
    package func pause(_ id: AttemptID) -> Bool { self.transfers[id]?.pauseByClient() ?? false }

    /// Goes on after ``pause(_:)``; bytes that waited in libcurl reach the sink at once.
    ///
    /// Ignored if not paused.
    package func unpause(_ id: AttemptID) { self.transfers[id]?.resume(.client) }

    /// An attempt's ``ChunkSink`` takes chunks again; ignored if it is over or not blocked.
    package func sinkHasRoom(_ id: AttemptID) { self.transfers[id]?.resume(.sink) }

    /// An attempt's ``ChunkSource`` has bytes again, or its end; ignored if it is over or not waiting.
    package func sourceHasBytes(_ id: AttemptID) { self.transfers[id]?.resume(.source) }

    /// Lets an attempt whose response head was reported receive its body, into `sink` if one is given.
    ///
    /// Ignored if it is over.
    package func proceed(_ id: AttemptID, into sink: BodySink? = nil) { self.transfers[id]?.proceed(into: sink) }

    /// Ends an attempt: it will be reported as finished, with what has come so far.
    ///
    /// Ignored if it is over.
    package func end(_ id: AttemptID, as failure: TaskFailure, _ text: String) {
        guard let transfer = self.transfers[id] else { return }
        transfer.abort(failure, text)
        transfer.note(.aborted)
    }

    /// Drops an attempt: its connection is closed (never shut down in flight), nothing more is sent, nothing is
    /// reported.
    ///
    /// What its sink holds stays. Ignored if it is over.
    package func discard(_ id: AttemptID) {
        if let transfer = self.transfers[id] { self.remove(transfer, id) }
    }

    /// The counters of a running attempt; nil if it is over.
    package func progress(of id: AttemptID) -> AttemptProgress? { self.transfers[id].map(self.progress) }

    /// The try to connect of a running attempt that has come furthest so far; nil if it is connected or over.
    package func failedConnect(of id: AttemptID) -> FailedConnect? {
        guard let transfer = self.transfers[id], !transfer.connection.isConnected else { return nil }
        return transfer.furthestFailedConnect()
    }

    /// Whether a running attempt has a TCP connection.
    package func isConnected(_ id: AttemptID) -> Bool { self.transfers[id]?.connection.isConnected ?? false }

    /// Begins a new pool: new attempts share no connection and no address with older ones.
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
}
