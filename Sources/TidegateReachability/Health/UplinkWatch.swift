internal import TidegateCore

/// Watches the ways out of this host, if there are several: those that are not the only one in use are asked.
///
/// A way that fell silent is asked again before it is called so.
struct UplinkWatch {
    typealias Moment = StandingDiagnosis.Moment

    /// A consequence of an input.
    enum Effect: Sendable, Hashable {
        /// The ways are to be found and asked.
        case ask
        /// ``uplinks`` are new.
        case known
        /// The state of one changed.
        case publish(UplinkEvent)
    }

    /// From one question to the next.
    private static let interval = Duration.seconds(60)
    /// Until a silent way is asked again, or the ways after a change of path.
    private static let confirmation = Duration.seconds(5)

    /// The ways, those in use first; none on a host with a single one.
    private(set) var uplinks: [Uplink] = []
    /// The ways that were silent once, and are asked again.
    private var doubted: [Uplink] = []
    private var next: MonotonicTime
    /// Until when the worker has to answer; nil while it has nothing to do.
    private var pending: MonotonicTime?

    init(at now: MonotonicTime) { self.next = now + Self.confirmation }

    /// When ``handle(_:used:at:)`` is due without an input.
    var deadline: MonotonicTime { self.pending ?? self.next }

    /// Asks soon: the path has changed.
    mutating func hasten(at now: MonotonicTime) { self.next = min(self.next, now + Self.confirmation) }

    /// Changes the state; the effects are to be run in order.
    ///
    /// `found` is what the worker found; `used` is the state of the way that `interface` is used for, nil while that is
    /// being checked.
    mutating func handle(
        _ found: [Uplink]?, used: Uplink.State?, over interface: String?, at now: Moment
    ) -> [Effect] {
        let before = self.uplinks
        var effects: [Effect] = []
        if let found, self.pending.take() != nil { effects += self.record(found, at: now) }
        for place in self.uplinks.indices where self.uplinks[place].role == .used {
            guard let used, self.uplinks[place].interface == interface else { continue }
            self.uplinks[place].move(to: used, at: now.wall)
        }
        if self.uplinks != before { effects.insert(.known, at: 0) }
        if let pending, pending <= now.monotonic { self.pending = nil }
        guard self.pending == nil, self.next <= now.monotonic else { return effects }
        (self.next, self.pending) = (now.monotonic + Self.interval, now.monotonic + HostHealth.limit)
        return effects + [.ask]
    }

    private mutating func record(_ found: [Uplink], at now: Moment) -> [Effect] {
        let (old, doubted) = (self.uplinks, self.doubted)
        (self.uplinks, self.doubted) = ([], [])
        for new in found {
            let before = old.first { $0.isSame(as: new) }
            var uplink = before ?? Uplink(new.interface, new.gateway, new.family)
            uplink.role = new.role
            let doubt = doubted.first { $0.isSame(as: new) }
            if new.role == .used {
                if before?.role != .used { uplink.move(to: .unknown, at: now.wall) }
            } else if new.isBroken, new.state != .down, !uplink.isBroken, doubt == nil {
                self.doubted.append(new)
                self.doubted[self.doubted.count - 1].since = now.wall
            } else {
                uplink.move(to: new.state, at: doubt?.since ?? now.wall)
            }
            self.uplinks.append(uplink)
        }
        if !self.doubted.isEmpty { self.hasten(at: now.monotonic) }
        let news = self.news(since: old)
        if found.count < 2 { self.uplinks = [] }
        return news
    }

    // The diagnosis speaks of the way that is used alone.
    private func news(since old: [Uplink]) -> [Effect] {
        let gone = old.filter { uplink in
            uplink.isBroken && uplink.role != .used && !self.uplinks.contains { $0.interface == uplink.interface }
        }
        let changed = self.uplinks.compactMap { uplink -> UplinkEvent? in
            let before = old.first { $0.interface == uplink.interface }
            let wasBroken = before.map { $0.isBroken && $0.role != .used } ?? false
            guard uplink.state != before?.state || uplink.role != before?.role,
                wasBroken || uplink.isBroken && uplink.role != .used
            else { return nil }
            return UplinkEvent(uplink, before: before?.state)
        }
        return (gone.map { UplinkEvent($0, before: $0.state, isGone: true) } + changed).map { .publish($0) }
    }
}

extension Uplink {
    fileprivate mutating func move(to state: State, at now: WallTime) {
        guard state != self.state else { return }
        // The first answer says nothing about the time before, and another sign of the same failure moves no start.
        if !self.isBroken || !state.isBroken { self.since = self.state == .unknown && state == .works ? nil : now }
        self.state = state
    }
}
