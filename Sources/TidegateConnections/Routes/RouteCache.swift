internal import TidegateCore

/// What the kernel would do with packets to remotes, as the monitor's look-ups said a moment ago.
struct RouteCache {
    private static let lifetime = Duration.seconds(5)
    private static let limit = 4096

    private struct Entry {
        var route: AddressRoute?
        var asked: MonotonicTime
    }

    private var entries: [IPAddress: Entry] = [:]

    /// The route to an address; nil while it is not known.
    func route(to address: IPAddress) -> AddressRoute? { self.entries[address]?.route }

    /// Whether the route to an address has to be looked up; it is then taken as asked for.
    mutating func needsLookUp(_ address: IPAddress, at now: MonotonicTime) -> Bool {
        if let entry = self.entries[address], now - entry.asked < Self.lifetime { return false }
        if self.entries.count >= Self.limit { self.entries = self.entries.filter { now - $1.asked < Self.lifetime } }
        self.entries[address, default: Entry(asked: now)].asked = now
        return true
    }

    /// A look-up has an answer.
    mutating func set(_ route: AddressRoute, for address: IPAddress) { self.entries[address]?.route = route }

    /// The host's paths changed: what is known is old.
    mutating func expire() { self.entries = [:] }

    /// The next hop to an address; nil while it is not known.
    func nextHop(to address: IPAddress) -> NextHop? {
        self.route(to: address).map { NextHop(gateway: $0.verdict.path?.gateway, interface: $0.link) }
    }
}
