internal import TidegateCore

/// Who may use a connection: so many per origin and in all; the others wait, by priority and then in order.
struct AdmissionQueue: Sendable {
    private struct Waiter {
        let task: UInt64
        let priority: Int
        let turn: UInt64

        func goesBefore(_ other: Waiter) -> Bool {
            self.priority != other.priority ? self.priority > other.priority : self.turn < other.turn
        }
    }

    // Taking from the front only moves a mark, until half of the line has gone.
    private struct Line {
        private var waiters: [Waiter] = []
        private var head = 0

        var first: Waiter? { self.head < self.waiters.count ? self.waiters[self.head] : nil }

        mutating func add(_ waiter: Waiter) {
            var place = self.waiters.count
            while place > self.head, waiter.goesBefore(self.waiters[place - 1]) { place -= 1 }
            self.waiters.insert(waiter, at: place)
        }

        mutating func removeFirst() {
            self.head += 1
            guard self.head > 64, self.head * 2 > self.waiters.count else { return }
            self.waiters.removeFirst(self.head)
            self.head = 0
        }

        mutating func remove(_ task: UInt64) {
            self.waiters.removeFirst(self.head)
            self.head = 0
            self.waiters.removeAll { $0.task == task }
        }
    }

    private let perOrigin: Int
    private let inAll: Int
    private var used = 0
    private var usedBy: [Origin: Int] = [:]
    private var waiting: [Origin: Line] = [:]
    private var lastTurn: UInt64 = 0

    init(perOrigin: Int, inAll: Int) {
        self.perOrigin = perOrigin
        self.inAll = inAll
    }

    /// How many slots are taken.
    var active: Int { self.used }

    /// Takes a slot; false where the task has to wait, and then it stands in the queue.
    mutating func enter(_ task: UInt64, _ origin: Origin, priority: Int) -> Bool {
        if self.used < self.inAll, self.usedBy[origin, default: 0] < self.perOrigin {
            self.used += 1
            self.usedBy[origin, default: 0] += 1
            return true
        }
        self.lastTurn += 1
        self.waiting[origin, default: Line()].add(Waiter(task: task, priority: priority, turn: self.lastTurn))
        return false
    }

    /// Gives a slot back.
    mutating func leave(_ origin: Origin) {
        self.used -= 1
        if let count = self.usedBy[origin] { self.usedBy[origin] = count > 1 ? count - 1 : nil }
    }

    /// Leaves the queue without a slot.
    mutating func forget(_ task: UInt64, _ origin: Origin) {
        guard !self.waiting.isEmpty, self.waiting[origin] != nil else { return }
        self.waiting[origin]?.remove(task)
        self.dropIfEmpty(origin)
    }

    /// Takes the next task that may go out of the queue and gives it a slot; nil where nobody may.
    mutating func next() -> UInt64? {
        guard self.used < self.inAll, !self.waiting.isEmpty else { return nil }
        var best: (origin: Origin, waiter: Waiter)?
        for (origin, line) in self.waiting where self.usedBy[origin, default: 0] < self.perOrigin {
            guard let first = line.first else { continue }
            if let found = best, !first.goesBefore(found.waiter) { continue }
            best = (origin, first)
        }
        guard let best else { return nil }
        self.waiting[best.origin]?.removeFirst()
        self.dropIfEmpty(best.origin)
        self.used += 1
        self.usedBy[best.origin, default: 0] += 1
        return best.waiter.task
    }

    private mutating func dropIfEmpty(_ origin: Origin) {
        if self.waiting[origin]?.first == nil { self.waiting[origin] = nil }
    }
}
