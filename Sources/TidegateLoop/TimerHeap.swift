package import TidegateModel

/// A timer that was scheduled; stays harmless after it fired.
package struct TimerID: Hashable, Sendable {
    let number: UInt64
}

/// Timers in the order of their deadlines; cancelling is lazy, so that it costs no search.
package struct TimerHeap {
    private struct Entry {
        let deadline: MonotonicTime
        let id: UInt64
        let token: UInt64

        // Equal deadlines fire in the order they were scheduled.
        func isBefore(_ other: Entry) -> Bool {
            (self.deadline.nanoseconds, self.id) < (other.deadline.nanoseconds, other.id)
        }
    }

    private var entries: [Entry] = []
    private var live: Set<UInt64> = []
    private var lastID: UInt64 = 0

    package init() {}

    /// How many timers are to fire.
    package var count: Int { self.live.count }

    /// Schedules a timer; `token` comes back when it fires.
    package mutating func schedule(at deadline: MonotonicTime, token: UInt64) -> TimerID {
        self.lastID += 1
        self.live.insert(self.lastID)
        self.entries.append(Entry(deadline: deadline, id: self.lastID, token: token))
        self.siftUp(from: self.entries.count - 1)
        return TimerID(number: self.lastID)
    }

    /// Forgets a timer; does nothing where it has fired.
    package mutating func cancel(_ timer: TimerID) {
        guard self.live.remove(timer.number) != nil else { return }
        // Dead entries may not outweigh the living: a suspended task must not leave its timers' memory behind.
        if self.entries.count > 64, self.entries.count > 2 * self.live.count { self.compact() }
    }

    /// The earliest deadline; nil without timers.
    package mutating func nextDeadline() -> MonotonicTime? {
        self.dropDead()
        return self.entries.first?.deadline
    }

    /// Takes the earliest timer that is due at `now`; nil where none is.
    package mutating func popDue(at now: MonotonicTime) -> UInt64? {
        self.dropDead()
        guard let first = self.entries.first, first.deadline <= now else { return nil }
        self.live.remove(first.id)
        self.removeFirst()
        return first.token
    }

    private mutating func dropDead() {
        while let first = self.entries.first, !self.live.contains(first.id) { self.removeFirst() }
    }

    private mutating func compact() {
        let living = self.entries.filter { self.live.contains($0.id) }
        self.entries.removeAll(keepingCapacity: false)
        for entry in living {
            self.entries.append(entry)
            self.siftUp(from: self.entries.count - 1)
        }
    }

    private mutating func removeFirst() {
        self.entries.swapAt(0, self.entries.count - 1)
        self.entries.removeLast()
        self.siftDown()
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard self.entries[child].isBefore(self.entries[parent]) else { return }
            self.entries.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < self.entries.count && self.entries[child].isBefore(self.entries[least]) {
                least = child
            }
            guard least != parent else { return }
            self.entries.swapAt(parent, least)
            parent = least
        }
    }
}
