internal import DequeModule

/// The newest events at positions that count on from 0: what a place holds is found by arithmetic.
struct HistoryRing {
    /// Grows to its size as events come: a quiet process has few.
    private var events = Deque<Event>()
    private let capacity: Int
    /// The position that the next event gets.
    private(set) var end: UInt64 = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The oldest position that is still there; ``end`` in an empty ring.
    var start: UInt64 { self.end - UInt64(self.events.count) }

    /// How many events are kept.
    var count: Int { self.events.count }

    mutating func append(_ event: Event) {
        if self.events.count == self.capacity { self.events.removeFirst() }
        self.events.append(event)
        self.end += 1
    }

    /// The event at a position; nil if it is overwritten or not yet there.
    subscript(position: UInt64) -> Event? {
        position >= self.start && position < self.end ? self.events[Int(position - self.start)] : nil
    }

    /// The position behind the event with this number; nil if it is not kept.
    ///
    /// Events of several threads may arrive in another order than they were numbered in, so this searches from the
    /// newest on; only a returning client pays for that. 0 is the beginning, while the ring still has it.
    func position(after sequence: UInt64) -> UInt64? {
        if sequence == 0 { return self.start == 0 ? 0 : nil }
        var position = self.end
        while position > self.start {
            if self[position - 1]?.sequence == sequence { return position }
            position -= 1
        }
        return nil
    }

    func piece(before end: UInt64?) -> (events: [Event], start: UInt64) {
        let end = min(end ?? self.end, self.end)
        let start = max(self.start, end - min(end, 256))
        return ((start..<max(start, end)).compactMap { self[$0] }, start)
    }

    var newest: Event? { self.events.last }
}
