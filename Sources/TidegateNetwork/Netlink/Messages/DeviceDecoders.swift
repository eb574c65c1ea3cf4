internal import CNetlink

/// A queueing discipline of a link (RTM_NEWQDISC; tc(8)).
struct QueueDiscipline: Equatable {
    /// False for one below another.
    let isRoot: Bool
    /// Such as `fq_codel`.
    let kind: String
    /// The bytes that wait; at the root those of all disciplines below it as well.
    let backlog: UInt32
    /// Packets that were dropped since it exists; it wraps.
    let drops: UInt32

    /// Nil for other messages, other links, and disciplines without a queue.
    init?(_ message: UnsafeMutablePointer<nlmsghdr>, of link: UInt32) {
        guard Int(message.pointee.nlmsg_type) == RTM_NEWQDISC,
            let header = MessageDecoder.body(message, as: tcmsg.self), UInt32(bitPattern: header.tcm_ifindex) == link,
            let attributes = Attributes(message, fixedBytes: MemoryLayout<tcmsg>.size),
            let kind = attributes[TCA_KIND]?.text, !Self.empty.contains(kind),
            // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits.
            let counts = attributes[TCA_STATS2].map(Attributes.init)?[TCA_STATS_QUEUE], counts.count >= 12
        else { return nil }
        self.isRoot = header.tcm_parent == Self.rootParent
        self.kind = kind
        self.backlog = counts.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
        self.drops = counts.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
    }

    // TC_H_ROOT of linux/pkt_sched.h.
    private static let rootParent = UInt32.max
    private static let empty: Set = ["noqueue", "noop", "ingress", "clsact"]
    // Others, such as fq_codel and cake, drop packets on purpose before they are full.
    private static let fifos: Set = [
        "pfifo_fast", "pfifo", "bfifo", "tbf", "mq", "mqprio", "prio", "multiq", "htb", "hfsc", "drr", "qfq",
    ]

    /// True if it drops packets only for lack of room.
    var isFIFO: Bool { Self.fifos.contains(self.kind) }
}

/// Speed and duplex of a link (ETHTOOL_MSG_LINKMODES_GET_REPLY in linux/ethtool_netlink.h).
struct LinkMode: Equatable {
    /// In Mbit/s.
    let speed: Int?
    let isHalfDuplex: Bool

    /// Nil for other messages.
    init?(_ message: UnsafeMutablePointer<nlmsghdr>) {
        guard let attributes = Attributes(message, fixedBytes: MemoryLayout<genlmsghdr>.size) else { return nil }
        // SPEED_UNKNOWN is all ones, and some drivers report 0.
        self.speed = attributes[ETHTOOL_A_LINKMODES_SPEED]?.word.flatMap { $0 == .max || $0 == 0 ? nil : Int($0) }
        // DUPLEX_HALF is 0, DUPLEX_UNKNOWN is 0xff.
        self.isHalfDuplex = attributes[ETHTOOL_A_LINKMODES_DUPLEX]?.first == 0
    }
}

/// The other end of a Wi-Fi link (NL80211_STA_INFO_* in linux/nl80211.h); drivers report what they like.
struct WirelessStation: Equatable {
    /// In dBm, on average if the driver has that.
    var signal: Int?
    /// In Mbit/s.
    var bitRate: Double?
    var sent: UInt32?
    var repeated: UInt32?
    var failed: UInt32?

    /// Nil for other messages.
    init?(_ message: UnsafeMutablePointer<nlmsghdr>) {
        let attributes = Attributes(message, fixedBytes: MemoryLayout<genlmsghdr>.size)
        guard let info = attributes?[NL80211_ATTR_STA_INFO.rawValue].map(Attributes.init) else { return nil }
        let signal = info[NL80211_STA_INFO_SIGNAL_AVG.rawValue]?.first ?? info[NL80211_STA_INFO_SIGNAL.rawValue]?.first
        self.signal = signal.map { Int(Int8(bitPattern: $0)) }
        let rate = info[NL80211_STA_INFO_TX_BITRATE.rawValue].map(Attributes.init)
        // In 100 kbit/s.
        self.bitRate = rate?[NL80211_RATE_INFO_BITRATE32.rawValue]?.word.map { Double($0) / 10 }
        self.sent = info[NL80211_STA_INFO_TX_PACKETS.rawValue]?.word
        self.repeated = info[NL80211_STA_INFO_TX_RETRIES.rawValue]?.word
        self.failed = info[NL80211_STA_INFO_TX_FAILED.rawValue]?.word
    }
}
