internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Writes netlink requests one behind the other, ready to be sent together.
struct RequestEncoder {
    private(set) var bytes: [UInt8] = []
    private var start = 0

    /// Forgets what was written and keeps the memory.
    mutating func clear() { self.bytes.removeAll(keepingCapacity: true) }

    mutating func linkDump(sequence: UInt32) {
        self.begin(RTM_GETLINK, flags: NLM_F_DUMP, sequence)
        self.body([UInt8](repeating: 0, count: MemoryLayout<ifinfomsg>.size))
        // Without the statistics a dump has half the size.
        self.attribute(Int(IFLA_EXT_MASK), word: UInt32(TG_RTEXT_FILTER_SKIP_STATS))
        self.end()
    }

    mutating func addressDump(sequence: UInt32) {
        self.begin(RTM_GETADDR, flags: NLM_F_DUMP, sequence)
        self.body([UInt8](repeating: 0, count: MemoryLayout<ifaddrmsg>.size))
        self.end()
    }

    /// Both lookups of a question: the matching route as `sequence`, the way a packet would take as the one after.
    mutating func lookups(_ question: RouteQuestion, sequence: UInt32) {
        let destination = question.destination
        // With strict checking IPv6 refuses a request that asks for the table; it names the table in any case.
        let flags = destination.family == .ipv4 ? UInt32(RTM_F_LOOKUP_TABLE) : 0
        self.start = self.bytes.count
        // Thousands are written in a row: room for both is made at once, and filled in place.
        self.bytes.append(contentsOf: repeatElement(0, count: 2 * RequestEncoder.longestLookup))
        let end = self.bytes.withUnsafeMutableBytes { [start = self.start] bytes in
            var pen = RequestPen(bytes, at: start)
            pen.lookup(question, flags: flags | UInt32(RTM_F_FIB_MATCH), sequence)
            let count = pen.offset - start
            bytes.storeBytes(of: UInt32(count), toByteOffset: start, as: UInt32.self)
            // The second request differs from the first in two words.
            let second = UnsafeMutableRawBufferPointer(rebasing: bytes[start + count..<start + 2 * count])
            second.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
            second.storeBytes(of: sequence &+ 1, toByteOffset: 8, as: UInt32.self)
            second.storeBytes(of: flags, toByteOffset: MemoryLayout<nlmsghdr>.size + 8, as: UInt32.self)
            return start + 2 * count
        }
        self.bytes.removeLast(self.bytes.count - end)
    }

    // The headers, and every attribute at its longest.
    private static let longestLookup = MemoryLayout<nlmsghdr>.size + MemoryLayout<rtmsg>.size + 20 + 8 + 8 + 8 + 8 + 8

    /// Every rule of a family, in the kernel's order.
    mutating func ruleDump(_ family: AddressFamily, sequence: UInt32) {
        self.begin(RTM_GETRULE, flags: NLM_F_DUMP, sequence)
        self.body([RequestEncoder.number(of: family)])
        self.body([UInt8](repeating: 0, count: MemoryLayout<fib_rule_hdr>.size - 1))
        self.end()
    }

    /// The routes of one table; the kernel filters (NETLINK_GET_STRICT_CHK in netlink(7)).
    mutating func routeDump(_ family: AddressFamily, _ filter: RouteFilter, sequence: UInt32) {
        self.begin(RTM_GETROUTE, flags: NLM_F_DUMP, sequence)
        self.body([RequestEncoder.number(of: family), 0, 0, 0])
        self.body([filter.table < 256 ? UInt8(filter.table) : 0, filter.routeProtocol, 0, filter.type])
        self.word(0)
        self.attribute(Int(RTA_TABLE.rawValue), word: filter.table)
        self.end()
    }

    /// One entry of the neighbour table.
    mutating func neighbour(_ address: IPAddress, on link: UInt32, sequence: UInt32) {
        self.begin(RTM_GETNEIGH, flags: 0, sequence)
        self.body([RequestEncoder.number(of: address.family), 0, 0, 0])
        self.word(link)
        self.word(0)
        self.attributeHeader(Int(NDA_DST), count: address.family.bits / 8)
        self.address(address)
        self.end()
    }

    /// The settings of a link, or of all links together (NETCONFA_IFINDEX_ALL).
    mutating func settings(_ family: AddressFamily, of link: Int32, sequence: UInt32) {
        self.begin(RTM_GETNETCONF, flags: 0, sequence)
        self.body([RequestEncoder.number(of: family), 0, 0, 0])
        self.attribute(Int(NETCONFA_IFINDEX), word: UInt32(bitPattern: link))
        self.end()
    }

    static func number(of family: AddressFamily) -> UInt8 {
        switch family {
        case .ipv4: UInt8(AF_INET)
        case .ipv6: UInt8(AF_INET6)
        }
    }

    private mutating func begin(_ type: Int, flags: Int32, _ sequence: UInt32) {
        self.start = self.bytes.count
        self.word(0)
        self.half(UInt16(type))
        self.half(UInt16(NLM_F_REQUEST | flags))
        self.word(sequence)
        self.word(0)
    }

    private mutating func end() { self.store(UInt32(self.bytes.count - self.start), at: self.start) }

    private mutating func store(_ word: UInt32, at offset: Int) {
        self.bytes.withUnsafeMutableBytes { $0.storeBytes(of: word, toByteOffset: offset, as: UInt32.self) }
    }

    private mutating func attribute(_ type: Int, word: UInt32) {
        self.attributeHeader(type, count: 4)
        self.word(word)
    }

    private mutating func attributeHeader(_ type: Int, count: Int) {
        self.half(UInt16(4 + count))
        self.half(UInt16(type))
    }

    private mutating func body(_ bytes: [UInt8]) { self.bytes.append(contentsOf: bytes) }

    private mutating func address(_ address: IPAddress) {
        let (high, low) = address.words
        switch address.family {
        case .ipv4: self.number(UInt32(truncatingIfNeeded: low).bigEndian)
        case .ipv6:
            self.number(high.bigEndian)
            self.number(low.bigEndian)
        }
    }

    private mutating func half(_ value: UInt16) { self.number(value) }

    private mutating func word(_ value: UInt32) { self.number(value) }

    private mutating func number(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value) { self.bytes.append(contentsOf: $0) }
    }
}
