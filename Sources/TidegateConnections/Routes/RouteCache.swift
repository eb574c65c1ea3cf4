internal import TidegateCore

/// What the kernel would do with packets to remotes, as the monitor's look-ups said a moment ago.
struct RouteCache {
    private static let lifetime = Duration.seconds(5)
    private static let limit = 4096

    private struct Entry {
        var route: AddressRoute?
        var asked: MonotonicTime
    }

    // A look-up takes well below a millisecond; one without an answer by then is not waited for.
    private static let patience = Duration.seconds(1)

    private var entries: [IPAddress: Entry] = [:]
    private var unanswered = 0
    private var lastAsked: MonotonicTime?

    /// Whether routes that are not known yet will be in a moment: a group must not be taken for those of its remotes whose
    /// routes came first.
    func isWaiting(at now: MonotonicTime) -> Bool {
        self.unanswered > 0 && self.lastAsked.map { now - $0 < Self.patience } ?? false
    }

    /// The route to an address; nil while it is not known.
    func route(to address: IPAddress) -> AddressRoute? { self.entries[address]?.route }

    /// Whether the route to an address has to be looked up; it is then taken as asked for.
    mutating func needsLookUp(_ address: IPAddress, at now: MonotonicTime) -> Bool {
        if let entry = self.entries[address], now - entry.asked < Self.lifetime { return false }
        if self.entries.count >= Self.limit { self.forgetOld(at: now) }
        if self.entries[address] == nil { self.unanswered += 1 }
        self.entries[address, default: Entry(asked: now)].asked = now
        self.lastAsked = now
        return true
    }

    private mutating func forgetOld(at now: MonotonicTime) {
        self.entries = self.entries.filter { now - $1.asked < Self.lifetime }
        self.unanswered = self.entries.count { $0.value.route == nil }
    }

    /// A look-up has an answer.
    mutating func set(_ route: AddressRoute, for address: IPAddress) {
        guard let entry = self.entries[address] else { return }
        if entry.route == nil { self.unanswered = max(0, self.unanswered - 1) }
        self.entries[address]?.route = route
    }

    /// The host's paths changed: what is known is old.
    mutating func expire() { (self.entries, self.unanswered) = ([:], 0) }

    /// The next hop to an address; nil while it is not known.
    func nextHop(to address: IPAddress) -> NextHop? {
        self.route(to: address).map { NextHop(gateway: $0.verdict.path?.gateway, interface: $0.link) }
    }
}
