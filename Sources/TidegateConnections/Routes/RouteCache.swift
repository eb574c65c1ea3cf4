internal import TidegateCore

/// What the kernel would do with packets to remotes, as the monitor's look-ups said a moment ago.
struct RouteCache {
    private static let lifetime = Duration.seconds(5)
    private static let limit = 8192

    private struct Entry {
        var route: AddressRoute?
        var asked: MonotonicTime
        var isAnswered = false
    }

    // A look-up takes well below a millisecond; one without an answer by then is not waited for.
    private static let patience = Duration.seconds(1)

    private var entries: [IPAddress: Entry] = [:]
    private var unanswered = 0
    private var lastAsked: MonotonicTime?
    private var lastForgot: MonotonicTime?

    /// Whether look-ups will be answered in a moment: a group must not be taken for those of its remotes whose routes came
    /// first, nor be looked at anew for each of them.
    func isWaiting(at now: MonotonicTime) -> Bool {
        self.unanswered > 0 && self.lastAsked.map { now - $0 < Self.patience } ?? false
    }

    /// The route to an address, however old; nil while it is not known.
    func route(to address: IPAddress) -> AddressRoute? { self.entries[address]?.route }

    /// The route to an address as it was looked up within the last seconds; nil while it is not known.
    func recentRoute(to address: IPAddress, at now: MonotonicTime) -> AddressRoute? {
        guard let entry = self.entries[address], entry.isAnswered, now - entry.asked < Self.lifetime else { return nil }
        return entry.route
    }

    /// Whether the route to an address is known or was asked for; not, if too many others are.
    func isAsked(_ address: IPAddress) -> Bool { self.entries[address] != nil }

    /// Whether the route to an address has to be looked up; it is then taken as asked for.
    mutating func needsLookUp(_ address: IPAddress, at now: MonotonicTime) -> Bool {
        let entry = self.entries[address]
        if let entry, now - entry.asked < Self.lifetime { return false }
        if entry == nil, self.entries.count >= Self.limit, !self.forgetOld(at: now) { return false }
        if entry?.isAnswered ?? true { self.unanswered += 1 }
        self.entries[address] = Entry(route: entry?.route, asked: now)
        self.lastAsked = now
        return true
    }

    // Once in a lifetime: in a full cache of young routes every look would find nothing.
    private mutating func forgetOld(at now: MonotonicTime) -> Bool {
        guard self.lastForgot.map({ now - $0 >= Self.lifetime }) ?? true else { return false }
        self.lastForgot = now
        self.entries = self.entries.filter { now - $1.asked < Self.lifetime }
        self.unanswered = self.entries.count { !$0.value.isAnswered }
        return self.entries.count < Self.limit
    }

    /// A look-up has an answer.
    mutating func set(_ route: AddressRoute, for address: IPAddress) {
        guard let entry = self.entries[address] else { return }
        if !entry.isAnswered { self.unanswered -= 1 }
        self.entries[address] = Entry(route: route, asked: entry.asked, isAnswered: true)
    }

    /// The host's paths changed: what is known is old.
    mutating func expire() { (self.entries, self.unanswered) = ([:], 0) }

    /// The next hop to an address; nil while it is not known.
    func nextHop(to address: IPAddress) -> NextHop? {
        self.route(to: address).map { NextHop(gateway: $0.verdict.path?.gateway, interface: $0.link) }
    }
}

/// The next hop of packets.
struct NextHop: Sendable, Hashable {
    /// The gateway; nil for what is on this host's own link.
    var gateway: IPAddress?
    /// The interface; nil if it is not known.
    var interface: String?
}
