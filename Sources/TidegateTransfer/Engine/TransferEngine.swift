internal import CCurl
package import TidegateLoop
package import TidegateCore

/// Runs attempts over libcurl.
///
/// Belongs to the thread of a ``TransferThread`` and never leaves it.
package final class TransferEngine {
    let loop: Loop
    let time = SystemClock()
    let outbox = Outbox()
    var slots = TransferPool()
    var sockets = SocketTable()
    let journal = SocketActions()
    var timer = CurlTimer()
    var blockedSinks = BlockedSinks()
    /// Slots whose bytes moved too soon after the last time that was told.
    var untold: [Int] = []
    /// Those with transfers, and the current one; the newest last.
    var epochs: [ConnectionPool] = []

    /// The current network epoch, from 1.
    package internal(set) var epoch = 1
    /// How often libcurl's sockets and timers woke the thread.
    package internal(set) var wakeUps = 0

    init(loop: Loop) { self.loop = loop }

    /// The moment the current batch of events began.
    package var now: MonotonicTime { self.loop.now }

    /// Connections of all epochs: in use by an attempt, and kept for reuse.
    package var connections: (active: Int, idle: Int) {
        let active = self.slots.busy.count { $0.hasConnection }
        return (active, max(0, self.sockets.openCount - active))
    }

    /// Starts an attempt.
    ///
    /// What goes wrong on the wire is reported, never thrown.
    ///
    /// - Throws: where libcurl refuses the request (a bad URL, a TLS option it was not built with) or the attempt is
    ///   running already; nothing was started then and nothing will be reported.
    package func start(_ request: AttemptRequest) throws(CurlError) {
        let epoch = try self.currentEpoch()
        let slot = try self.slots.take(for: request.id, outbox: self.outbox, time: self.time)
        do throws(CurlError) {
            slot.begin(request, in: epoch)
            // The addresses are those of whom we connect to: of the proxy, where there is one.
            let peer = (request.proxy ?? request.url).origin
            try slot.configure(request, epoch, peer, at: self.now)
            if !slot.resolveList.isEmpty { slot.pinTicket = epoch.ticket(for: peer) }
            if slot.openBody(request.body) { try epoch.add(slot) }
        } catch {
            self.slots.release(slot, of: request.id)
            throw error
        }
    }

    /// Stops reading and writing.
    ///
    /// False where there is no connection yet to be kept, or the protocol is HTTP/2: the attempt runs on, and whoever
    /// wants it to stop must detach it.
    package func pause(_ id: AttemptID) -> Bool {
        guard let slot = self.slots[id], slot.wire.tries > 0,
            slot.easy.long(CURLINFO_HTTP_VERSION) != Int(CURL_HTTP_VERSION_2_0)
        else { return false }
        slot.pause.insert(.user)
        if slot.applyPause() { return true }
        slot.pause.remove(.user)
        return false
    }

    /// Goes on after ``pause(_:)``; bytes that waited in libcurl reach the sink at once.
    ///
    /// Ignored where not paused.
    package func unpause(_ id: AttemptID) {
        guard let slot = self.slots[id], slot.pause.remove(.user) != nil else { return }
        if !slot.applyPause() { slot.noteBroken() }
    }

    /// Drops an attempt: its connection is closed (never shut down in flight), nothing more is sent, nothing is
    /// reported.
    ///
    /// What its sink holds stays. Ignored where it is over.
    package func detach(_ id: AttemptID) {
        if let slot = self.slots[id] { self.remove(slot, id) }
    }

    /// The counters of a running attempt; nil where it is over.
    package func progress(of id: AttemptID) -> AttemptProgress? {
        self.slots[id]?.progress()
    }

    /// Begins a network epoch: new attempts share no connection and no address with older ones.
    ///
    /// Idle connections are closed now, busy ones when their attempts end.
    package func beginEpoch() {
        self.epoch += 1
        let old = self.epochs
        for epoch in old { self.retire(epoch) }
    }

    /// Schedules a timer; `token`, below 2^63, comes back in ``TransferClient/timerFired(_:)``.
    package func schedule(at deadline: MonotonicTime, token: UInt64) -> TimerID {
        self.loop.schedule(at: deadline, token: token)
    }

    /// Schedules a timer that fires `delay` after the current batch began.
    package func schedule(after delay: Duration, token: UInt64) -> TimerID {
        self.loop.schedule(after: delay, token: token)
    }

    /// Forgets a timer.
    package func cancel(_ timer: TimerID) { self.loop.cancel(timer) }
}
