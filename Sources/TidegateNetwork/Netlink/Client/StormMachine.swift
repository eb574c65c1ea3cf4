internal import TidegateCore

/// Decides when route messages arrive too fast to read, and when to read them again.
struct StormMachine: Sendable {
    enum Input: Sendable, Hashable {
        /// Route messages were read.
        case routeMessages(Int)
        /// The kernel dropped messages.
        case overrun
        /// Time has passed.
        case tick
    }

    enum Effect: Sendable, Hashable {
        /// Leave the route groups.
        case leaveRouteGroups
        /// Join the route groups again and dump.
        case joinRouteGroups
    }

    private enum State: Sendable, Hashable {
        case calm(MessageRate)
        case storm(lastOverload: MonotonicTime)
    }

    /// The rate of route messages that counts as a storm if it lasts for a second.
    ///
    /// A single burst is not a storm, however large it is and whatever follows it.
    static let messagesPerSecond = 200
    private static let patience = Duration.seconds(1)
    private static let calm = State.calm(MessageRate(limit: messagesPerSecond))
    private static let overrunWindow = Duration.seconds(10)
    static let quiet = Duration.seconds(10)

    private var state = StormMachine.calm
    private var lastOverrun: MonotonicTime?

    var isStorm: Bool { if case .storm = self.state { true } else { false } }

    mutating func handle(_ input: Input, at now: MonotonicTime) -> Effect? {
        switch (self.state, input) {
        case (.calm(let rate), .routeMessages(let count)): self.count(count, rate, now)
        case (.calm, .overrun): self.overrun(now)
        case (.calm, .tick), (.storm, .routeMessages): nil
        case (.storm, .overrun): self.prolong(now)
        case (.storm(let last), .tick): self.leave(ifQuietSince: last, now)
        }
    }

    private mutating func count(_ count: Int, _ rate: MessageRate, _ now: MonotonicTime) -> Effect? {
        var rate = rate
        // Moves the rate out of the state first, because otherwise counting would copy it.
        self.state = .storm(lastOverload: now)
        guard let lasted = rate.add(count, at: now), lasted >= StormMachine.patience else {
            self.state = .calm(rate)
            return nil
        }
        return .leaveRouteGroups
    }

    private mutating func overrun(_ now: MonotonicTime) -> Effect? {
        defer { self.lastOverrun = now }
        guard let last = self.lastOverrun, now - last <= StormMachine.overrunWindow else { return nil }
        self.state = .storm(lastOverload: now)
        return .leaveRouteGroups
    }

    private mutating func prolong(_ now: MonotonicTime) -> Effect? {
        self.state = .storm(lastOverload: now)
        return nil
    }

    private mutating func leave(ifQuietSince last: MonotonicTime, _ now: MonotonicTime) -> Effect? {
        guard now - last >= StormMachine.quiet else { return nil }
        self.state = StormMachine.calm
        self.lastOverrun = nil
        return .joinRouteGroups
    }
}

/// The number of messages within the last second, with a resolution of 50 ms.
struct MessageRate: Hashable {
    private static let slotsPerSecond: UInt64 = 20

    private let limit: Int
    private var counts = [Int](repeating: 0, count: Int(slotsPerSecond))
    private var newest: UInt64 = 0
    private var total = 0
    private var highSince: MonotonicTime?

    /// `limit` is the number of messages per second that counts as high.
    init(limit: Int) { self.limit = limit }

    /// Counts messages; returns for how long the rate has been high, nil if it is not.
    mutating func add(_ count: Int, at now: MonotonicTime) -> Duration? {
        self.advance(to: now)
        // Between two calls messages only leave the window, so the count now is the lowest since the last call.
        if self.total < self.limit { self.highSince = nil }
        self.counts[self.place(self.newest)] += count
        self.total += count
        if self.total >= self.limit, self.highSince == nil { self.highSince = now }
        return self.highSince.map { now - $0 }
    }

    private mutating func advance(to now: MonotonicTime) {
        let slot = now.nanoseconds / (1_000_000_000 / MessageRate.slotsPerSecond)
        guard slot > self.newest else { return }
        for passed in 1...min(slot - self.newest, MessageRate.slotsPerSecond) {
            self.total -= self.counts[self.place(self.newest &+ passed)]
            self.counts[self.place(self.newest &+ passed)] = 0
        }
        self.newest = slot
    }

    private func place(_ slot: UInt64) -> Int { Int(slot % MessageRate.slotsPerSecond) }
}
