internal import TidegateCore
internal import TidegateTransfer

/// The generation of the connection pool, and whether the next attempt begins a new one.
final class PoolGeneration {
    private let engine: TransferEngine
    private let lookup: AddressLookup
    private let publisher: EventPublisher
    private var isStale = false
    /// The first generation after the last reset.
    private var firstSinceReset = 0

    init(engine: TransferEngine, lookup: AddressLookup, publisher: EventPublisher) {
        self.engine = engine
        self.lookup = lookup
        self.publisher = publisher
    }

    var current: Int { self.engine.poolGeneration }

    /// The connections of the current pool may lead nowhere.
    func markStale() { self.isStale = true }

    /// Begins the pool that a change has asked for, before anything else is started.
    func renewIfStale() {
        guard self.isStale else { return }
        self.isStale = false
        self.begin()
        self.publisher.publish(.poolReplaced(number: self.current))
    }

    /// Begins a new pool because that is wanted, and not because the network has changed.
    func reset() {
        self.isStale = false
        self.begin()
        self.firstSinceReset = self.current
        self.publisher.publish(.reset)
    }

    /// True for an attempt that was made before the last reset: what it learns is to be forgotten.
    func isFromBeforeReset(_ live: LiveAttempt) -> Bool { live.pool.map { $0 < self.firstSinceReset } ?? false }

    private func begin() {
        self.engine.beginPool()
        self.lookup.networkChanged()
    }
}
