package import TidegateModel

/// Decides when route messages come too fast to listen to, and when to listen again.
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
        case calm(windowStart: MonotonicTime?, count: Int)
        case storm(lastTrouble: MonotonicTime)
    }

    /// Route messages per second that are a storm when they last for a second.
    package static let messagesPerSecond = 200
    private static let overrunWindow = Duration.seconds(10)
    package static let quiet = Duration.seconds(10)

    private var state = State.calm(windowStart: nil, count: 0)
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
        case (.calm(let start, let count), .routeMessages(let more)): self.count(more, since: start, before: count, now)
        case (.calm, .overrun): self.overrun(now)
        case (.calm, .tick), (.storm, .routeMessages): nil
        case (.storm, .overrun): self.stay(now)
        case (.storm(let last), .tick): self.leave(ifQuietSince: last, now)
        }
    }

    private mutating func count(
        _ more: Int, since start: MonotonicTime?, before count: Int, _ now: MonotonicTime
    ) -> Effect? {
        guard let start, now - start < .seconds(2) else {
            self.state = .calm(windowStart: now, count: more)
            return nil
        }
        let (total, elapsed) = (count + more, now - start)
        guard elapsed >= .seconds(1) else {
            self.state = .calm(windowStart: start, count: total)
            return nil
        }
        guard Double(total) >= Double(StormMachine.messagesPerSecond) * elapsed.inSeconds else {
            self.state = .calm(windowStart: now, count: 0)
            return nil
        }
        self.state = .storm(lastTrouble: now)
        return .leaveRouteGroups
    }

    private mutating func overrun(_ now: MonotonicTime) -> Effect? {
        defer { self.lastOverrun = now }
        guard let last = self.lastOverrun, now - last <= StormMachine.overrunWindow else { return nil }
        self.state = .storm(lastTrouble: now)
        return .leaveRouteGroups
    }

    private mutating func stay(_ now: MonotonicTime) -> Effect? {
        self.state = .storm(lastTrouble: now)
        return nil
    }

    private mutating func leave(ifQuietSince last: MonotonicTime, _ now: MonotonicTime) -> Effect? {
        guard now - last >= StormMachine.quiet else { return nil }
        self.state = .calm(windowStart: nil, count: 0)
        self.lastOverrun = nil
        return .joinRouteGroups
    }
}
