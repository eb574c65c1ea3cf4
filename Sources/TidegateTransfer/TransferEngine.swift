package import TidegateLoop
package import TidegateModel

/// Runs attempts over libcurl. Belongs to the thread of a ``TransferThread`` and never leaves it.
package final class TransferEngine {
    private let loop: Loop

    init(loop: Loop) { self.loop = loop }

    /// The moment the current batch of events began.
    package var now: MonotonicTime { self.loop.now }

    /// Connections of all epochs: in use by an attempt, and kept for reuse.
    package var connections: (active: Int, idle: Int) { (0, 0) }

    /// The current network epoch, from 1.
    package var epoch: Int { 1 }

    /// Starts an attempt. What goes wrong on the wire is reported, never thrown.
    ///
    /// - Throws: where libcurl refuses the request (a bad URL, a TLS option it was not built with); nothing was
    ///   started then and nothing will be reported.
    package func start(_ request: AttemptRequest) throws(CurlError) {}

    /// Stops reading and writing. False where there is no connection yet to be kept, or the protocol is HTTP/2: the
    /// attempt runs on, and whoever wants it to stop must detach it.
    package func pause(_ id: AttemptID) -> Bool { false }

    /// Goes on after ``pause(_:)``; bytes that waited in libcurl reach the sink at once. Ignored where not paused.
    package func unpause(_ id: AttemptID) {}

    /// Drops an attempt: its connection is closed (never shut down in flight), nothing more is sent, nothing is
    /// reported. What its sink holds stays. Ignored where it is over.
    package func detach(_ id: AttemptID) {}

    /// The counters of a running attempt; nil where it is over.
    package func progress(of id: AttemptID) -> AttemptProgress? { nil }

    /// Begins a network epoch: new attempts share no connection and no address with older ones. Idle connections are
    /// closed now, busy ones when their attempts end.
    package func beginEpoch() {}

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
