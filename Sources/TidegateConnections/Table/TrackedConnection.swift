internal import TidegateCore
internal import TidegateNetwork

/// One live connection, as lists of the kernel showed it; small, because there may be tens of thousands.
struct TrackedConnection {
    /// What is known of it, bit by bit.
    struct Flags: OptionSet {
        let rawValue: UInt8
        static let incoming = Flags(rawValue: 1 << 0)
        /// It was counted as established.
        static let established = Flags(rawValue: 1 << 1)
        /// A list showed that none of its packets has left this host.
        static let neverSent = Flags(rawValue: 1 << 2)
        static let ipv6 = Flags(rawValue: 1 << 3)
        /// It was there when observing began, so that its counters say nothing of what came since.
        static let old = Flags(rawValue: 1 << 4)
    }

    /// The number that no other socket has.
    let cookie: UInt64
    private let remoteAddress: StoredAddress
    private let user: UInt32
    private let controlGroup: UInt64
    private var counters = CountedTraffic()
    /// The number of the last list that showed it.
    var listNumber: UInt32
    // The remote's if a program of this host opened the connection, else this host's.
    private let port: UInt16
    var flags: Flags
    /// How it hangs.
    var stall: ConnectionStall?

    init(_ report: SocketReport, _ direction: ConnectionDirection, listNumber: UInt32) {
        self.cookie = report.cookie
        let address = report.remote.address
        self.remoteAddress = StoredAddress(high: address.bits.high, low: address.bits.low, zone: address.zone)
        self.controlGroup = report.controlGroup ?? 0
        self.user = report.user
        self.listNumber = listNumber
        self.port = direction == .outgoing ? report.remote.port : report.local.port
        self.flags = direction == .incoming ? .incoming : []
        if address.family == .ipv6 { self.flags.insert(.ipv6) }
    }

    /// The remote's address.
    var address: IPAddress {
        guard self.flags.contains(.ipv6) else {
            return IPAddress(ipv4: UInt32(truncatingIfNeeded: self.remoteAddress.low))
        }
        let plain = IPAddress(ipv6: self.remoteAddress.high, self.remoteAddress.low)
        let zone = self.remoteAddress.zone
        return zone == 0 ? plain : IPAddress(octets: plain.octets, zone: zone) ?? plain
    }

    var direction: ConnectionDirection { self.flags.contains(.incoming) ? .incoming : .outgoing }

    /// The remote, as people are told of it.
    var remote: Remote {
        Remote(self.address, port: self.port, self.direction)
    }

    /// Who created its socket.
    var owner: RemoteReport.Owner {
        RemoteReport.Owner(user: self.user, controlGroup: self.controlGroup == 0 ? nil : self.controlGroup)
    }

    /// What was sent and received since the last report; counters that went back say nothing.
    ///
    /// They are all 0 once a program has torn its connection down (SO_LINGER).
    mutating func advance(to info: TCPInfo) -> TrafficDelta {
        let sent = info.sentBytes &- info.retransmittedBytes
        let delta = TrafficDelta(
            sentSegments: UInt64(info.sentSegments.growth(since: self.counters.sentSegments)),
            retransmittedSegments: UInt64(
                info.retransmittedSegments.growth(since: self.counters.retransmittedSegments)),
            sentBytes: sent.growth(since: self.counters.sentBytes),
            receivedBytes: info.receivedBytes.growth(since: self.counters.receivedBytes))
        self.counters.sentSegments = max(self.counters.sentSegments, info.sentSegments)
        self.counters.retransmittedSegments = max(self.counters.retransmittedSegments, info.retransmittedSegments)
        self.counters.sentBytes = max(self.counters.sentBytes, sent)
        self.counters.receivedBytes = max(self.counters.receivedBytes, info.receivedBytes)
        return delta
    }
}

/// An address in half the room.
private struct StoredAddress {
    let high: UInt64
    let low: UInt64
    let zone: UInt32
}

/// What was counted of a connection already.
private struct CountedTraffic {
    var sentBytes: UInt64 = 0
    var receivedBytes: UInt64 = 0
    var sentSegments: UInt32 = 0
    var retransmittedSegments: UInt32 = 0
}

/// What was sent and received on a connection between two reports.
struct TrafficDelta {
    var sentSegments: UInt64 = 0
    var retransmittedSegments: UInt64 = 0
    var sentBytes: UInt64 = 0
    var receivedBytes: UInt64 = 0
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// By how much it is above `other`; 0 if it is not.
    fileprivate func growth(since other: Self) -> Self { self > other ? self - other : 0 }
}
