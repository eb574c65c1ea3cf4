package import TidegateCore

/// The identity of a scheduled timer; using it after the timer fired does no harm.
package struct TimerID: Hashable, Sendable {
    /// A serial number, so that a reused place is not mistaken for the old timer.
    let number: UInt64
    let place: Int
}

/// Timers ordered by deadline; cancelling is lazy, so that it needs no search.
package struct TimerHeap {
    private struct Entry {
        let deadline: MonotonicTime
        let id: TimerID
        let token: UInt64

        // Equal deadlines fire in the order they were scheduled.
        func isBefore(_ other: Entry) -> Bool {
            (self.deadline.nanoseconds, self.id.number) < (other.deadline.nanoseconds, other.id.number)
        }
    }

    private var entries: [Entry] = []
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
        self.entries.append(Entry(deadline: deadline, id: id, token: token))
        self.siftUp(from: self.entries.count - 1)
        return id
    }

    /// Cancels a timer; does nothing if it has already fired.
    package mutating func cancel(_ timer: TimerID) {
        guard self.end(timer) else { return }
        // Cancelled entries may not outnumber the live ones: a suspended task must not leave the memory of its timers
        // behind.
        if self.entries.count > 64, self.entries.count > 2 * self.count { self.compact() }
    }

    /// The earliest deadline; nil if no timer is pending.
    package mutating func nextDeadline() -> MonotonicTime? {
        self.dropCancelled()
        return self.entries.first?.deadline
    }

    /// Takes the earliest timer that is due at `now`; nil if none is.
    package mutating func popDue(at now: MonotonicTime) -> UInt64? {
        self.dropCancelled()
        guard let first = self.entries.first, first.deadline <= now else { return nil }
        _ = self.end(first.id)
        self.removeFirst()
        return first.token
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
        while let first = self.entries.first, !self.isLive(first.id) { self.removeFirst() }
    }

    private mutating func compact() {
        self.entries = self.entries.filter { self.isLive($0.id) }
        for parent in (0..<self.entries.count / 2).reversed() { self.siftDown(from: parent) }
    }

    private mutating func removeFirst() {
        self.entries.swapAt(0, self.entries.count - 1)
        self.entries.removeLast()
        self.siftDown(from: 0)
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

    private mutating func siftDown(from start: Int) {
        var parent = start
        while 2 * parent + 1 < self.entries.count {
            var child = 2 * parent + 1
            if child + 1 < self.entries.count, self.entries[child + 1].isBefore(self.entries[child]) { child += 1 }
            guard self.entries[child].isBefore(self.entries[parent]) else { return }
            self.entries.swapAt(parent, child)
            parent = child
        }
    }
}
