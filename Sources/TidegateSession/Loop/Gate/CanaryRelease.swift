/// The order in which tasks go after an outage: one goes first, and the others follow once it has a connection.
struct CanaryRelease: Sendable {
    /// The task that goes first; nil if none is under way.
    private(set) var leader: UInt64?
    /// The tasks that wait for the first one.
    private(set) var followers = WaitingTasks()
    /// True while the next canary waits for its moment.
    private(set) var isBetweenLeaders = false
    /// How many canaries in a row had no connection.
    private var failures = 0

    /// Tasks may go, in this order; gives those that follow later.
    mutating func release(_ tasks: [UInt64]) -> ArraySlice<UInt64> {
        let hasLeader = self.leader != nil || self.isBetweenLeaders
        if !hasLeader { self.leader = tasks.first }
        return tasks.dropFirst(hasLeader ? 0 : 1)
    }

    /// The task waits until the first one has a connection.
    mutating func follow(_ task: UInt64) { self.followers.append(task) }

    /// True if something follows; else there is no canary either.
    mutating func isWaitedFor() -> Bool {
        if self.followers.isEmpty { self.leader = nil }
        return !self.followers.isEmpty
    }

    /// The outage is over: gives all that followed.
    mutating func finish() -> [UInt64] {
        defer { self = CanaryRelease() }
        return self.followers.all
    }

    /// The canary had no connection; gives the longest time until the next one goes.
    mutating func leaderFailed() -> Duration {
        self.leader = nil
        self.isBetweenLeaders = true
        self.failures += 1
        return min(.seconds(8), .milliseconds(250) * (1 << min(5, self.failures - 1)))
    }

    /// The next task in line, which does not wait any more; nil after the last one.
    mutating func nextFollower() -> UInt64? {
        self.isBetweenLeaders = false
        return self.followers.popFirst()
    }

    /// The task goes first now.
    mutating func lead(_ task: UInt64) { self.leader = task }
}
