internal import CNetlink
internal import Glibc
internal import TidegateModel

/// Writes netlink requests one behind the other, ready to be sent together.
struct RequestWriter {
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
        self.begin(RTM_GETROUTE, flags: 0, sequence)
        let destination = question.destination
        // With strict checking IPv6 refuses a request that asks for the table; it names the table in any case.
        let flags = destination.family == .ipv4 ? UInt32(RTM_F_LOOKUP_TABLE) : 0
        let family = destination.family == .ipv4 ? AF_INET : AF_INET6
        self.bytes.append(UInt8(family))
        self.bytes.append(UInt8(destination.family.bits))
        self.half(0)
        self.word(0)
        self.word(flags | UInt32(RTM_F_FIB_MATCH))
        self.attributeHeader(Int(RTA_DST.rawValue), count: destination.family.bits / 8)
        self.address(destination)
        if let link = question.link ?? (destination.zone == 0 ? nil : destination.zone) {
            self.attribute(Int(RTA_OIF.rawValue), word: link)
        }
        if let port = question.port {
            self.attributeHeader(Int(RTA_IP_PROTO.rawValue), count: 1)
            self.bytes.append(UInt8(IPPROTO_TCP))
            self.bytes.append(0)
            self.half(0)
            self.attributeHeader(Int(RTA_DPORT.rawValue), count: 2)
            self.half(port.bigEndian)
            self.half(0)
        }
        self.end()
        self.repeatLast(flags: flags, sequence: sequence &+ 1)
    }

    // The second request differs from the first in two words.
    private mutating func repeatLast(flags: UInt32, sequence: UInt32) {
        let (first, count) = (self.start, self.bytes.count - self.start)
        self.start = self.bytes.count
        self.bytes.append(contentsOf: self.bytes[first..<first + count])
        self.store(sequence, at: self.start + 8)
        self.store(flags, at: self.start + MemoryLayout<nlmsghdr>.size + 8)
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
