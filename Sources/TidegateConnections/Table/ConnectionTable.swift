internal import TidegateCore
internal import TidegateNetwork

/// The live connections by socket cookie.
///
/// Entries are stored contiguously, and the last one replaces a removed one: a connection takes one entry and one index
/// slot. They are stored in blocks, because a single array would be copied and doubled whenever it grows.
struct ConnectionTable {
    private static let blockSize = 1024

    private var blocks: [[TrackedConnection]] = []
    private(set) var count = 0
    private var places: [UInt64: UInt32] = [:]
    private let limit: Int
    /// The number of the current list of all connections, from 1; 0 before the first.
    private(set) var listNumber: UInt32 = 0

    init(limit: Int) { self.limit = limit }

    /// Handles the start of a list of all connections.
    mutating func beginList() { self.listNumber &+= 1 }

    /// Undoes ``beginList()`` for a refused list.
    mutating func cancelList() { self.listNumber &-= 1 }

    /// Calls `body` to change a connection; nil if it is unknown.
    mutating func update<Result>(_ cookie: UInt64, _ body: (inout TrackedConnection) -> Result) -> Result? {
        guard let place = self.places[cookie].map(Int.init) else { return nil }
        return body(&self.blocks[place / Self.blockSize][place % Self.blockSize])
    }

    /// Whether a connection is known.
    func contains(_ cookie: UInt64) -> Bool { self.places[cookie] != nil }

    /// Inserts an unknown connection; false if the table is full.
    mutating func insert(_ connection: TrackedConnection) -> Bool {
        guard self.count < self.limit, self.places[connection.cookie] == nil else { return false }
        self.places[connection.cookie] = UInt32(self.count)
        if self.count == self.blocks.count * Self.blockSize {
            self.blocks.append([])
            self.blocks[self.blocks.count - 1].reserveCapacity(Self.blockSize)
        }
        self.blocks[self.count / Self.blockSize].append(connection)
        self.count += 1
        return true
    }

    /// Removes and returns a connection; nil if it is unknown.
    @discardableResult
    mutating func remove(_ cookie: UInt64) -> TrackedConnection? {
        guard let place = self.places.removeValue(forKey: cookie).map(Int.init) else { return nil }
        let connection = self.blocks[place / Self.blockSize][place % Self.blockSize]
        let last = self.removeLast()
        guard last.cookie != cookie else { return connection }
        self.blocks[place / Self.blockSize][place % Self.blockSize] = last
        self.places[last.cookie] = UInt32(place)
        return connection
    }

    private mutating func removeLast() -> TrackedConnection {
        let block = (self.count - 1) / Self.blockSize
        let last = self.blocks[block].removeLast()
        if self.blocks[block].isEmpty { self.blocks.removeLast() }
        self.count -= 1
        return last
    }

    // Opening connections are listed separately, at least once for this many lists of the others.
    private static let openingLists: UInt32 = 16

    /// Removes the connections missing from every list since this one: the messages about their ends were lost.
    mutating func removeAll(notSeenSince list: UInt32) -> [TrackedConnection] {
        let gone = self.blocks.flatMap { block in
            block.filter { connection in
                let slack = connection.flags.contains(.established) ? 0 : Self.openingLists
                return connection.listNumber < list && list - connection.listNumber > slack
            }
        }
        for connection in gone { self.remove(connection.cookie) }
        return gone
    }
}

/// One live connection, as the kernel lists it; kept small, because there may be tens of thousands.
struct TrackedConnection {
    /// Facts about a connection, one bit each.
    struct Flags: OptionSet {
        let rawValue: UInt8
        static let incoming = Flags(rawValue: 1 << 0)
        /// It was counted as established.
        static let established = Flags(rawValue: 1 << 1)
        /// A list showed that none of its packets has left this host.
        static let neverSent = Flags(rawValue: 1 << 2)
        static let ipv6 = Flags(rawValue: 1 << 3)
        /// It existed when observing began, so its counters include earlier traffic.
        static let old = Flags(rawValue: 1 << 4)
        /// The kernel reported its socket's owner.
        static let owned = Flags(rawValue: 1 << 5)
    }

    /// The number that no other socket has.
    let cookie: UInt64
    // The remote's address, packed into half the space.
    private let high: UInt64
    private let low: UInt64
    private let zone: UInt32
    private let knownUser: UInt32
    private let controlGroup: UInt64
    // Traffic that has already been counted.
    private var sentBytes: UInt64 = 0
    private var receivedBytes: UInt64 = 0
    private var sentSegments: UInt32 = 0
    private var retransmittedSegments: UInt32 = 0
    // In tenths of a second, which may wrap around: lists follow each other within a minute.
    private var busy: UInt16 = 0
    private var limitedByPeer: UInt16 = 0
    private var limitedByBuffer: UInt16 = 0
    /// The number of the last list that showed it.
    var listNumber: UInt32
    // The remote's port if a program of this host opened the connection, else this host's.
    private let port: UInt16
    var flags: Flags
    /// How it hangs.
    var stall: ConnectionStall?

    init(_ report: SocketReport, _ direction: ConnectionDirection, listNumber: UInt32) {
        self.cookie = report.cookie
        let address = report.remote.address
        (self.high, self.low) = address.bits
        self.zone = address.zone
        self.controlGroup = report.controlGroup ?? 0
        self.knownUser = report.user ?? 0
        self.listNumber = listNumber
        self.port = direction == .outgoing ? report.remote.port : report.local.port
        self.flags = direction == .incoming ? .incoming : []
        if address.family == .ipv6 { self.flags.insert(.ipv6) }
        if report.user != nil { self.flags.insert(.owned) }
    }

    /// The remote's address.
    var address: IPAddress {
        guard self.flags.contains(.ipv6) else { return IPAddress(ipv4: UInt32(truncatingIfNeeded: self.low)) }
        let plain = IPAddress(ipv6: self.high, self.low)
        return self.zone == 0 ? plain : IPAddress(octets: plain.octets, zone: self.zone) ?? plain
    }

    var direction: ConnectionDirection { self.flags.contains(.incoming) ? .incoming : .outgoing }

    /// The remote as reports show it.
    var remote: Remote { Remote(self.address, port: self.port, self.direction) }

    /// The user who created its socket; nil if the kernel did not report it.
    var user: UInt32? { self.flags.contains(.owned) ? self.knownUser : nil }

    /// The owner of its socket.
    var owner: RemoteReport.Owner {
        RemoteReport.Owner(user: self.knownUser, controlGroup: self.controlGroup == 0 ? nil : self.controlGroup)
    }

    /// The traffic since the last report; counters that went backwards are ignored.
    ///
    /// They all become 0 when a program aborts its connection (SO_LINGER).
    mutating func advance(to info: TCPInfo) -> TrafficDelta {
        let sent = info.sentBytes &- info.retransmittedBytes
        func growth(of time: UInt64, _ last: inout UInt16) -> UInt64 {
            let now = UInt16(truncatingIfNeeded: time / 100_000)
            defer { last = now }
            return time == 0 ? 0 : UInt64(now &- last) * 100
        }
        var delta = TrafficDelta(
            sentSegments: UInt64(info.sentSegments.growth(since: self.sentSegments)),
            retransmittedSegments: UInt64(info.retransmittedSegments.growth(since: self.retransmittedSegments)),
            sentBytes: sent.growth(since: self.sentBytes),
            receivedBytes: info.receivedBytes.growth(since: self.receivedBytes))
        let busy = growth(of: info.busy, &self.busy)
        let peer = min(busy, growth(of: info.limitedByPeer, &self.limitedByPeer))
        let buffer = min(busy - peer, growth(of: info.limitedByBuffer, &self.limitedByBuffer))
        (delta.limits.remoteWindow, delta.limits.sendBuffer) = (peer, buffer)
        let rest = busy - peer - buffer
        if info.isLimitedByProgram { delta.limits.program = rest } else { delta.limits.network = rest }
        self.sentSegments = max(self.sentSegments, info.sentSegments)
        self.retransmittedSegments = max(self.retransmittedSegments, info.retransmittedSegments)
        self.sentBytes = max(self.sentBytes, sent)
        self.receivedBytes = max(self.receivedBytes, info.receivedBytes)
        return delta
    }
}

/// What was sent and received on a connection between two reports.
struct TrafficDelta {
    var sentSegments: UInt64 = 0
    var retransmittedSegments: UInt64 = 0
    var sentBytes: UInt64 = 0
    var receivedBytes: UInt64 = 0
    var limits = FlowLimits()
}
