internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Encodes a series of netlink requests to be sent together.
///
/// Thousands of lookups are written in a row, so it writes into its own memory instead of growing an array.
struct RequestEncoder: ~Copyable {
    private var buffer: UnsafeMutableRawBufferPointer
    private var count = 0
    private var start = 0

    init() { self.buffer = .allocate(byteCount: 4096, alignment: 16) }

    deinit { self.buffer.deallocate() }

    /// The requests; valid until the next one is written.
    var requests: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self.buffer[..<self.count]) }

    /// Removes all requests and keeps the memory.
    mutating func clear() { self.count = 0 }

    mutating func linkDump(sequence: UInt32) {
        self.begin(RTM_GETLINK, flags: NLM_F_DUMP, sequence)
        self.write(zeros: MemoryLayout<ifinfomsg>.size)
        // Without the statistics a dump has half the size.
        self.attribute(Int(IFLA_EXT_MASK), UInt32(TG_RTEXT_FILTER_SKIP_STATS))
        self.end()
    }

    mutating func addressDump(sequence: UInt32) {
        self.begin(RTM_GETADDR, flags: NLM_F_DUMP, sequence)
        self.write(zeros: MemoryLayout<ifaddrmsg>.size)
        self.end()
    }

    /// Both lookups of a question: the matching route as `sequence`, and the path a packet would take as `sequence +
    /// 1`.
    mutating func lookups(_ question: RouteQuestion, sequence: UInt32) {
        // With strict checking, IPv6 rejects a request for the table, but reports the table anyway.
        let flags = question.destination.family == .ipv4 ? UInt32(RTM_F_LOOKUP_TABLE) : 0
        self.lookup(question, flags: flags | UInt32(RTM_F_FIB_MATCH), sequence)
        let (first, length) = (self.start, self.count - self.start)
        self.reserve(length)
        // The second request differs from the first in two words.
        let second = UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.count..<self.count + length])
        second.copyMemory(from: UnsafeRawBufferPointer(rebasing: self.buffer[first..<first + length]))
        second.storeBytes(of: sequence &+ 1, toByteOffset: 8, as: UInt32.self)
        second.storeBytes(of: flags, toByteOffset: MemoryLayout<nlmsghdr>.size + 8, as: UInt32.self)
        self.count += length
    }

    private mutating func lookup(_ question: RouteQuestion, flags: UInt32, _ sequence: UInt32) {
        let destination = question.destination
        self.begin(RTM_GETROUTE, flags: 0, sequence)
        self.write(UInt8(destination.family.domain))
        self.write(UInt8(destination.family.bits))
        self.write(UInt16(0))
        self.write(UInt32(0))
        self.write(flags)
        self.attribute(Int(RTA_DST.rawValue), destination)
        if let link = question.link ?? (destination.zone == 0 ? nil : destination.zone) {
            self.attribute(Int(RTA_OIF.rawValue), link)
        }
        if let port = question.port {
            self.attributeHeader(Int(RTA_IP_PROTO.rawValue), count: 1)
            self.write(UInt32(question.ipProtocol).littleEndian)
            self.attributeHeader(Int(RTA_DPORT.rawValue), count: 2)
            self.write(port.bigEndian)
            self.write(UInt16(0))
        }
        if let mark = question.mark { self.attribute(Int(RTA_MARK.rawValue), mark) }
        if let uid = question.uid { self.attribute(Int(RTA_UID.rawValue), uid) }
        self.end()
    }

    /// Every rule of a family, in the kernel's order.
    mutating func ruleDump(_ family: AddressFamily, sequence: UInt32) {
        self.begin(RTM_GETRULE, flags: NLM_F_DUMP, sequence)
        self.write(UInt8(family.domain))
        self.write(zeros: MemoryLayout<fib_rule_hdr>.size - 1)
        self.end()
    }

    /// The routes of one table; the kernel filters (NETLINK_GET_STRICT_CHK in netlink(7)).
    mutating func routeDump(_ family: AddressFamily, _ filter: RouteFilter, sequence: UInt32) {
        self.begin(RTM_GETROUTE, flags: NLM_F_DUMP, sequence)
        self.write(UInt8(family.domain))
        self.write(zeros: 3)
        self.write(filter.table < 256 ? UInt8(filter.table) : 0)
        self.write(filter.routeProtocol)
        self.write(UInt8(0))
        self.write(filter.type)
        self.write(UInt32(0))
        self.attribute(Int(RTA_TABLE.rawValue), filter.table)
        self.end()
    }

    /// One entry of the neighbour table.
    mutating func neighbour(_ address: IPAddress, on link: UInt32, sequence: UInt32) {
        self.begin(RTM_GETNEIGH, flags: 0, sequence)
        self.write(UInt8(address.family.domain))
        self.write(zeros: 3)
        self.write(link)
        self.write(UInt32(0))
        self.attribute(Int(NDA_DST), address)
        self.end()
    }

    /// The settings of a link, or of all links together (NETCONFA_IFINDEX_ALL).
    mutating func settings(_ family: AddressFamily, of link: Int32, sequence: UInt32) {
        self.begin(RTM_GETNETCONF, flags: 0, sequence)
        self.write(UInt8(family.domain))
        self.write(zeros: 3)
        self.attribute(Int(NETCONFA_IFINDEX), UInt32(bitPattern: link))
        self.end()
    }

    /// One link, without its statistics.
    mutating func link(_ index: UInt32, sequence: UInt32) {
        self.begin(RTM_GETLINK, flags: 0, sequence)
        self.write(UInt32(0))
        self.write(index)
        self.write(zeros: MemoryLayout<ifinfomsg>.size - 8)
        self.attribute(Int(IFLA_EXT_MASK), UInt32(TG_RTEXT_FILTER_SKIP_STATS))
        self.end()
    }

    /// The queueing disciplines of all links; the kernel does not filter them.
    mutating func disciplineDump(sequence: UInt32) {
        self.begin(RTM_GETQDISC, flags: NLM_F_DUMP, sequence)
        self.write(zeros: MemoryLayout<tcmsg>.size)
        self.end()
    }

    /// The number of a generic netlink family.
    mutating func family(_ name: String, sequence: UInt32) {
        self.beginGeneric(GENL_ID_CTRL, UInt8(CTRL_CMD_GETFAMILY), flags: 0, sequence)
        let bytes = Array(name.utf8) + [0]
        self.attributeHeader(Int(CTRL_ATTR_FAMILY_NAME), count: bytes.count)
        for byte in bytes { self.write(byte) }
        self.write(zeros: (4 - bytes.count % 4) % 4)
        self.end()
    }

    /// Speed and duplex of a link; `family` is the number of `ethtool`.
    mutating func linkMode(of link: UInt32, _ family: UInt16, sequence: UInt32) {
        self.beginGeneric(Int32(family), UInt8(ETHTOOL_MSG_LINKMODES_GET), flags: 0, sequence)
        self.attributeHeader(Int(ETHTOOL_A_LINKMODES_HEADER) | Int(NLA_F_NESTED), count: 8)
        self.attribute(Int(ETHTOOL_A_HEADER_DEV_INDEX), link)
        self.end()
    }

    /// The other ends of a Wi-Fi link; `family` is the number of `nl80211`.
    mutating func stationDump(of link: UInt32, _ family: UInt16, sequence: UInt32) {
        self.beginGeneric(Int32(family), UInt8(NL80211_CMD_GET_STATION.rawValue), flags: NLM_F_DUMP, sequence)
        self.attribute(Int(NL80211_ATTR_IFINDEX.rawValue), link)
        self.end()
    }

    // MARK: Parts of a message

    // struct genlmsghdr; all of these families have version 1.
    private mutating func beginGeneric(_ family: Int32, _ command: UInt8, flags: Int32, _ sequence: UInt32) {
        self.begin(Int(family), flags: flags, sequence)
        self.write(command)
        self.write(UInt8(1))
        self.write(UInt16(0))
    }

    mutating func begin(_ type: Int, flags: Int32, _ sequence: UInt32) {
        self.start = self.count
        self.write(UInt32(0))
        self.write(UInt16(type))
        self.write(UInt16(NLM_F_REQUEST | flags))
        self.write(sequence)
        self.write(UInt32(0))
    }

    mutating func end() {
        self.buffer.storeBytes(of: UInt32(self.count - self.start), toByteOffset: self.start, as: UInt32.self)
    }

    private mutating func attribute(_ type: Int, _ word: UInt32) {
        self.attributeHeader(type, count: 4)
        self.write(word)
    }

    private mutating func attribute(_ type: Int, _ address: IPAddress) {
        self.attributeHeader(type, count: address.family.bits / 8)
        let (high, low) = address.bits
        switch address.family {
        case .ipv4: self.write(UInt32(truncatingIfNeeded: low).bigEndian)
        case .ipv6:
            self.write(high.bigEndian)
            self.write(low.bigEndian)
        }
    }

    private mutating func attributeHeader(_ type: Int, count: Int) {
        self.write(UInt16(4 + count))
        self.write(UInt16(type))
    }

    mutating func write(zeros count: Int) {
        for _ in 0..<count { self.write(UInt8(0)) }
    }

    mutating func write<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
        self.reserve(MemoryLayout<Number>.size)
        self.buffer.storeBytes(of: number, toByteOffset: self.count, as: Number.self)
        self.count += MemoryLayout<Number>.size
    }

    private mutating func reserve(_ bytes: Int) {
        guard self.count + bytes > self.buffer.count else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(2 * self.buffer.count, self.count + bytes), alignment: 16)
        larger.copyMemory(from: self.requests)
        self.buffer.deallocate()
        self.buffer = larger
    }
}
