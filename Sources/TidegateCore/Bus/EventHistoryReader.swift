internal import Synchronization

/// Follows a history from one place on, for one reader; it ends when it is released.
public final class EventHistoryReader: Sendable {
    private let history: EventHistory
    private let number: UInt64
    /// True where it goes on behind the id asked for; otherwise the reader needs a snapshot first.
    public let isResumed: Bool
    /// The id of the newest event when the following began; a snapshot made afterwards is at least as new.
    public let lastID: String

    init(history: EventHistory, number: UInt64, isResumed: Bool, lastID: String) {
        self.history = history
        self.number = number
        self.isResumed = isResumed
        self.lastID = lastID
    }

    deinit { self.end() }

    /// The events that came meanwhile, at most 64, or the next one; nil once the follower or the reading task has ended.
    public func next() async -> EventHistoryBatch? { await self.history.next(self.number) }

    /// Lets a waiting reader go on without an event.
    public func wake() { self.history.wake(self.number) }

    /// Ends the following; a waiting reader gets nil.
    public func end() { self.history.end(self.number) }
}

/// What a follower gets at a time.
public struct EventHistoryBatch: Sendable {
    /// The events, in the order of the history.
    public var events: [Event] = []
    /// How many were dropped just before them because the reader was too slow.
    public var dropped: UInt64 = 0

    /// True where there is nothing to tell.
    public var isEmpty: Bool { self.events.isEmpty && self.dropped == 0 }
}

/// Where a follower is in the history's ring.
struct EventHistoryPosition {
    private var position: UInt64
    /// Up to here the past was asked for: it may be behind by more than the bound.
    private let pastUntil: UInt64
    private let bound: Int
    private(set) var dropped: UInt64 = 0

    private static let batch: UInt64 = 64

    init(at position: UInt64, pastUntil: UInt64, bound: Int) {
        self.position = position
        self.pastUntil = pastUntil
        self.bound = max(1, bound)
    }

    mutating func take(from ring: HistoryRing) -> EventHistoryBatch {
        let start = self.firstKept(in: ring)
        let end = min(ring.end, start + EventHistoryPosition.batch)
        let missed = start - self.position
        self.dropped += missed
        self.position = end
        return EventHistoryBatch(events: (start..<end).compactMap { ring[$0] }, dropped: missed)
    }

    func statistics(in ring: HistoryRing) -> SubscriberStatistics {
        let start = self.firstKept(in: ring)
        return SubscriberStatistics(
            queued: Int(ring.end - start), capacity: self.bound, dropped: self.dropped + (start - self.position))
    }

    // The newest win: what is over the bound goes with all that is before it, the past too.
    private func firstKept(in ring: HistoryRing) -> UInt64 {
        let waiting = ring.end - max(self.position, self.pastUntil)
        let isOver = waiting > UInt64(self.bound)
        return max(isOver ? ring.end - UInt64(self.bound) : self.position, ring.start)
    }
}
