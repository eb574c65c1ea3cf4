internal import TidegateCore
internal import TidegateTransfer

/// What the session reads of the engine that runs its attempts, and the engine's timers.
protocol AttemptEngine: TimerQueue {
    /// The generation of the connections that new attempts use.
    var poolGeneration: Int { get }
    /// The counters of a running attempt; nil if it is over.
    func progress(of id: AttemptID) -> AttemptProgress?
    /// Whether a running attempt has a TCP connection.
    func isConnected(_ id: AttemptID) -> Bool
    /// The try to connect of a running attempt that has come furthest so far; nil if it is connected or over.
    func failedConnect(of id: AttemptID) -> FailedConnect?
}

extension TransferEngine: AttemptEngine {}

/// The generation of the connection pool, and whether the next attempt begins a new one.
struct PoolGeneration {
    private let engine: any AttemptEngine
    private var isStale = false
    /// How many pools are to begin once the current input is handled.
    private var begun = 0
    /// The first generation after the last reset.
    private var firstSinceReset = 0

    init(_ engine: any AttemptEngine) { self.engine = engine }

    var current: Int { self.engine.poolGeneration + self.begun }

    /// The connections of the current pool may lead nowhere.
    mutating func markStale() { self.isStale = true }

    /// Begins the pool that a change has asked for, before anything else is started; false if none is due.
    mutating func renewIfStale() -> Bool {
        guard self.isStale else { return false }
        self.isStale = false
        self.begun += 1
        return true
    }

    /// Begins a new pool because that is wanted, and not because the network has changed.
    mutating func reset() {
        self.isStale = false
        self.begun += 1
        self.firstSinceReset = self.current
    }

    /// The engine has begun what was to begin.
    mutating func inputEnded() { self.begun = 0 }

    /// True for an attempt that was made before the last reset: what it learns is to be forgotten.
    func isFromBeforeReset(_ live: LiveAttempt) -> Bool { live.pool.map { $0 < self.firstSinceReset } ?? false }
}
