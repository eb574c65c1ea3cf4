internal import TidegateCore

/// The results of the monitor's recent route lookups: what the kernel would do with packets to remotes.
struct RouteCache {
    private static let lifetime = Duration.seconds(5)
    private static let limit = 8192

    private struct Entry {
        var route: AddressRoute?
        var asked: MonotonicTime
        var isAnswered = false
    }

    // A lookup takes well below a millisecond; one that takes this long is no longer waited for.
    private static let patience = Duration.seconds(1)

    private var entries: [IPAddress: Entry] = [:]
    private var unanswered = 0
    private var lastAsked: MonotonicTime?
    private var lastForgot: MonotonicTime?

    /// Whether lookups are about to be answered.
    ///
    /// A group must not be judged by the remotes whose routes arrived first, nor be assessed again for each route.
    func isWaiting(at now: MonotonicTime) -> Bool {
        self.unanswered > 0 && self.lastAsked.map { now - $0 < Self.patience } ?? false
    }

    /// The route to an address, of any age; nil while unknown.
    func route(to address: IPAddress) -> AddressRoute? { self.entries[address]?.route }

    /// The route to an address if it was looked up within the last seconds; nil otherwise.
    func recentRoute(to address: IPAddress, at now: MonotonicTime) -> AddressRoute? {
        guard let entry = self.entries[address], entry.isAnswered, now - entry.asked < Self.lifetime else { return nil }
        return entry.route
    }

    /// Whether the route to an address is known or requested; false if too many others are.
    func isAsked(_ address: IPAddress) -> Bool { self.entries[address] != nil }

    /// Whether the route to an address must be looked up; marks it as requested.
    mutating func needsLookUp(_ address: IPAddress, at now: MonotonicTime) -> Bool {
        let entry = self.entries[address]
        if let entry, now - entry.asked < Self.lifetime { return false }
        if entry == nil, self.entries.count >= Self.limit, !self.forgetOld(at: now) { return false }
        if entry?.isAnswered ?? true { self.unanswered += 1 }
        self.entries[address] = Entry(route: entry?.route, asked: now)
        self.lastAsked = now
        return true
    }

    // At most once per lifetime: in a full cache of fresh routes every search would find nothing.
    private mutating func forgetOld(at now: MonotonicTime) -> Bool {
        guard self.lastForgot.map({ now - $0 >= Self.lifetime }) ?? true else { return false }
        self.lastForgot = now
        self.entries = self.entries.filter { now - $1.asked < Self.lifetime }
        self.unanswered = self.entries.count { !$0.value.isAnswered }
        return self.entries.count < Self.limit
    }

    /// Stores the result of a lookup.
    mutating func set(_ route: AddressRoute, for address: IPAddress) {
        guard let entry = self.entries[address] else { return }
        if !entry.isAnswered { self.unanswered -= 1 }
        self.entries[address] = Entry(route: route, asked: entry.asked, isAnswered: true)
    }

    /// Drops every route after a change of the host's paths.
    mutating func expire() { (self.entries, self.unanswered) = ([:], 0) }

    /// The next hop to an address; nil while unknown.
    func nextHop(to address: IPAddress) -> NextHop? {
        self.route(to: address).map { NextHop(gateway: $0.verdict.path?.gateway, interface: $0.link) }
    }
}

/// The next hop of packets.
struct NextHop: Sendable, Hashable {
    /// The gateway; nil for hosts on this host's own link.
    var gateway: IPAddress?
    /// The interface; nil if unknown.
    var interface: String?
}
