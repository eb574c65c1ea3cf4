internal import TidegateCore

/// Decides which tasks may use a connection: a limit per origin and a limit in total; the others wait.
///
/// Higher priorities go first. Within a priority, an origin's tasks go in the order of joining, and origins take turns,
/// so that a long queue for one server does not delay the others. Every operation takes constant time for any number of
/// waiting tasks.
struct ConnectionLimiter: Sendable {
    /// The waiting tasks of one origin at one priority.
    struct Queue {
        var tasks = WaitingTasks()
        /// True while the origin is in its level's rotation.
        var isInRotation = false
    }

    /// The waiting tasks of one priority.
    struct Level {
        let priority: Int
        var queues: [Origin: Queue] = [:]
        /// Origins that may have both a waiting task and room for it, in the order of their turns.
        var rotation = ReusedQueue<Origin>()

        mutating func enqueue(_ origin: Origin) {
            guard self.queues[origin]?.isInRotation == false else { return }
            self.queues[origin]?.isInRotation = true
            self.rotation.append(origin)
        }

        mutating func nextOrigin() -> Origin? {
            guard let origin = self.rotation.takeFirst() else { return nil }
            self.queues[origin]?.isInRotation = false
            return origin
        }
    }

    let perOrigin: Int
    let inAll: Int
    /// The number of connections in use.
    private(set) var used = 0
    private(set) var usedBy = OriginCounts()
    /// One level for each priority in use, highest first; there are few.
    private(set) var levels: [Level] = []
    /// The waiting tasks.
    private(set) var tickets: [UInt64: (origin: Origin, priority: Int)] = [:]

    /// Takes a connection; false if none is free, in which case the task waits until ``next()`` returns it.
    mutating func join(_ task: UInt64, _ origin: Origin, priority: Int) -> Bool {
        if self.used < self.inAll, self.hasRoom(origin) {
            self.take(origin)
            return true
        }
        self.tickets[task] = (origin, priority)
        let level = self.level(priority)
        self.levels[level].queues[origin, default: Queue()].tasks.append(task)
        if self.hasRoom(origin) { self.levels[level].enqueue(origin) }
        return false
    }

    /// Returns a connection.
    mutating func leave(_ origin: Origin) {
        self.used -= 1
        self.usedBy.add(-1, to: origin)
        guard !self.tickets.isEmpty else { return }
        for index in self.levels.indices { self.levels[index].enqueue(origin) }
    }

    /// Stops waiting; does nothing for a task that is not waiting.
    mutating func withdraw(_ task: UInt64) {
        guard !self.tickets.isEmpty, let ticket = self.tickets.removeValue(forKey: task),
            let level = self.levels.firstIndex(where: { $0.priority == ticket.priority })
        else { return }
        self.levels[level].queues[ticket.origin]?.tasks.remove(task)
        self.removeIfEmpty(ticket.origin, level)
        self.dropEmptyLevels()
    }

    /// Takes a connection for the next task and returns the task; nil if none may go.
    mutating func next() -> UInt64? {
        guard self.used < self.inAll, !self.tickets.isEmpty else { return nil }
        for level in self.levels.indices {
            while let origin = self.levels[level].nextOrigin() {
                // An origin without room returns to the rotation when it returns a connection.
                guard self.hasRoom(origin) else { continue }
                let task = self.levels[level].queues[origin]?.tasks.popFirst()
                if let task {
                    self.tickets[task] = nil
                    self.take(origin)
                    if self.hasRoom(origin) { self.levels[level].enqueue(origin) }
                }
                self.removeIfEmpty(origin, level)
                guard let task else { continue }
                self.dropEmptyLevels()
                return task
            }
        }
        return nil
    }

    private func hasRoom(_ origin: Origin) -> Bool { self.usedBy[origin] < self.perOrigin }

    private mutating func take(_ origin: Origin) {
        self.used += 1
        self.usedBy.add(1, to: origin)
    }

    private mutating func level(_ priority: Int) -> Int {
        let position = self.levels.firstIndex { $0.priority <= priority } ?? self.levels.count
        if position == self.levels.count || self.levels[position].priority != priority {
            self.levels.insert(Level(priority: priority), at: position)
        }
        return position
    }

    private mutating func removeIfEmpty(_ origin: Origin, _ level: Int) {
        // A queue in the rotation stays until its turn, so that the rotation never contains an origin twice.
        guard let queue = self.levels[level].queues[origin], queue.tasks.isEmpty, !queue.isInRotation else { return }
        self.levels[level].queues[origin] = nil
    }

    private mutating func dropEmptyLevels() { self.levels.removeAll { $0.queues.isEmpty } }
}

/// A number for each origin, 0 if none was set.
///
/// The latest origin's number is stored separately: the next origin is usually the same and is then found without
/// hashing.
struct OriginCounts: Sendable {
    private var others: [Origin: Int] = [:]
    private var latest: Origin?
    private var latestCount = 0

    subscript(origin: Origin) -> Int { self.latest == origin ? self.latestCount : self.others[origin] ?? 0 }

    /// Adds to an origin's number, which never falls below 0.
    mutating func add(_ number: Int, to origin: Origin) {
        if self.latest != origin {
            if let latest, self.latestCount > 0 { self.others[latest] = self.latestCount }
            (self.latest, self.latestCount) = (origin, self.others.removeValue(forKey: origin) ?? 0)
        }
        self.latestCount = max(0, self.latestCount + number)
    }
}
