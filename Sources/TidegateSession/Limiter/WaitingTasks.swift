internal import TidegateCore

/// Tasks that wait for one thing, in the order of arrival.
///
/// Every operation takes constant time for any number of tasks: the entry of a task that leaves stays until the front
/// reaches it or such entries outnumber the rest.
struct WaitingTasks: Sendable {
    private var entries: [(task: UInt64, ticket: UInt64)] = []
    private var head = 0
    private var tickets: [UInt64: UInt64] = [:]
    private var lastTicket: UInt64 = 0

    var count: Int { self.tickets.count }

    var isEmpty: Bool { self.tickets.isEmpty }

    /// The task that has waited longest; nil if none waits.
    var first: UInt64? { self.head < self.entries.count ? self.entries[self.head].task : nil }

    /// Every task, in order.
    var all: [UInt64] { self.entries[self.head...].filter(self.isCurrent).map(\.task) }

    /// Adds a task; does nothing if it is already waiting.
    mutating func append(_ task: UInt64) {
        guard self.tickets[task] == nil else { return }
        self.lastTicket += 1
        self.tickets[task] = self.lastTicket
        self.entries.append((task, self.lastTicket))
    }

    /// Removes a task; does nothing if it is not waiting.
    mutating func remove(_ task: UInt64) {
        guard self.tickets.removeValue(forKey: task) != nil else { return }
        self.dropStale()
    }

    /// Takes the task that has waited longest.
    mutating func popFirst() -> UInt64? {
        guard let task = self.first else { return nil }
        self.remove(task)
        return task
    }

    /// Takes every task, in order.
    mutating func removeAll() -> [UInt64] { exchange(&self, with: WaitingTasks()).all }

    private func isCurrent(_ entry: (task: UInt64, ticket: UInt64)) -> Bool { self.tickets[entry.task] == entry.ticket }

    // The first entry always waits, so that it can be read without a search.
    private mutating func dropStale() {
        while self.head < self.entries.count, !self.isCurrent(self.entries[self.head]) { self.head += 1 }
        guard self.entries.count > 64, self.entries.count > 2 * self.count else { return }
        self.entries = self.entries[self.head...].filter(self.isCurrent)
        self.head = 0
    }
}
