package import TidegateCore

/// Decides when route messages arrive too fast to read, and when to read them again.
package struct StormMachine: Sendable {
    package enum Input: Sendable, Hashable {
        /// Route messages were read.
        case routeMessages(Int)
        /// The kernel dropped messages.
        case overrun
        /// Time has passed.
        case tick
    }

    package enum Effect: Sendable, Hashable {
        /// Leave the route groups.
        case leaveRouteGroups
        /// Join the route groups again and dump.
        case joinRouteGroups
    }

    private enum State: Sendable, Hashable {
        case calm(MessageRate)
        case storm(lastOverload: MonotonicTime)
    }

    /// The rate of route messages that is a storm if it lasts for a second.
    ///
    /// A single burst is not a storm, however large it is and whatever follows it.
    package static let messagesPerSecond = 200
    private static let patience = Duration.seconds(1)
    private static let calm = State.calm(MessageRate(limit: messagesPerSecond))
    private static let overrunWindow = Duration.seconds(10)
    package static let quiet = Duration.seconds(10)

    private var state = StormMachine.calm
    private var lastOverrun: MonotonicTime?

    package init() {}

    package var isStorm: Bool {
        switch self.state {
        case .calm: false
        case .storm: true
        }
    }

    package mutating func handle(_ input: Input, at now: MonotonicTime) -> Effect? {
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
