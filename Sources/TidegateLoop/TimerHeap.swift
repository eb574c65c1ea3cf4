internal import HeapModule
package import TidegateCore

/// The identity of a scheduled timer; using it after the timer fired does no harm.
package struct TimerID: Hashable, Sendable {
    /// A serial number, so that a reused place is not mistaken for the old timer.
    let number: UInt64
    let place: Int
}

/// Timers ordered by deadline; cancelling is lazy, so that it needs no search.
package struct TimerHeap {
    private struct Entry: Comparable {
        let deadline: MonotonicTime
        let id: TimerID
        let token: UInt64

        // Equal deadlines fire in the order they were scheduled.
        static func < (left: Entry, right: Entry) -> Bool {
            (left.deadline.nanoseconds, left.id.number) < (right.deadline.nanoseconds, right.id.number)
        }
    }

    private var entries = Heap<Entry>()
    // The number of the timer in each place; 0 for none. Every request has a timer, and a set would hash it twice.
    private var live: [UInt64] = []
    private var freePlaces: [Int] = []
    private var lastNumber: UInt64 = 0

    package init() {}

    /// The number of pending timers.
    package var count: Int { self.live.count - self.freePlaces.count }

    /// Schedules a timer; `token` comes back when it fires.
    package mutating func schedule(at deadline: MonotonicTime, token: UInt64) -> TimerID {
        self.lastNumber += 1
        let id = TimerID(number: self.lastNumber, place: self.freePlaces.popLast() ?? self.live.count)
        if id.place == self.live.count {
            self.live.append(id.number)
        } else {
            self.live[id.place] = id.number
        }
        self.entries.insert(Entry(deadline: deadline, id: id, token: token))
        return id
    }

    /// Cancels a timer; does nothing if it has already fired.
    package mutating func cancel(_ timer: TimerID) {
        guard self.end(timer) else { return }
        // Cancelled entries may not outnumber the live ones: a suspended task must not leave the memory of its timers
        // behind.
        guard self.entries.count > 64, self.entries.count > 2 * self.count else { return }
        self.entries = Heap(self.entries.unordered.filter { self.isLive($0.id) })
    }

    /// The earliest deadline; nil if no timer is pending.
    package mutating func nextDeadline() -> MonotonicTime? {
        self.dropCancelled()
        return self.entries.min?.deadline
    }

    /// Takes the earliest timer that is due at `now`; nil if none is.
    package mutating func popDue(at now: MonotonicTime) -> UInt64? {
        self.dropCancelled()
        guard let first = self.entries.min, first.deadline <= now else { return nil }
        _ = self.end(first.id)
        return self.entries.removeMin().token
    }

    private func isLive(_ timer: TimerID) -> Bool {
        timer.place < self.live.count && self.live[timer.place] == timer.number
    }

    /// Frees a timer's place; false if the timer has already ended.
    private mutating func end(_ timer: TimerID) -> Bool {
        guard self.isLive(timer) else { return false }
        self.live[timer.place] = 0
        self.freePlaces.append(timer.place)
        // Frees the memory of many timers when the last of them ends.
        if self.freePlaces.count == self.live.count, self.live.count > 1024 {
            self.live = []
            self.freePlaces = []
        }
        return true
    }

    private mutating func dropCancelled() {
        while let first = self.entries.min, !self.isLive(first.id) { self.entries.removeMin() }
    }
}
