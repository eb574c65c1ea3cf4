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

    /// A route lookup: the matching route, or the way a packet would take.
    mutating func lookup(_ question: RouteQuestion, isMatch: Bool, sequence: UInt32) {
        self.begin(RTM_GETROUTE, flags: 0, sequence)
        let destination = question.destination
        var flags: UInt32 = isMatch ? UInt32(RTM_F_FIB_MATCH) : 0
        // With strict checking IPv6 refuses a request that asks for the table; it names the table in any case.
        if destination.family == .ipv4 { flags |= UInt32(RTM_F_LOOKUP_TABLE) }
        let family = destination.family == .ipv4 ? AF_INET : AF_INET6
        self.body([UInt8(family), UInt8(destination.family.bits), 0, 0, 0, 0, 0, 0])
        self.word(flags)
        self.attribute(Int(RTA_DST.rawValue), octets: destination)
        if let link = question.link ?? (destination.zone == 0 ? nil : destination.zone) {
            self.attribute(Int(RTA_OIF.rawValue), word: link)
        }
        if let port = question.port {
            self.attributeHeader(Int(RTA_IP_PROTO.rawValue), count: 1)
            self.body([UInt8(IPPROTO_TCP), 0, 0, 0])
            self.attributeHeader(Int(RTA_DPORT.rawValue), count: 2)
            self.body([UInt8(port >> 8), UInt8(truncatingIfNeeded: port), 0, 0])
        }
        self.end()
    }

    private mutating func begin(_ type: Int, flags: Int32, _ sequence: UInt32) {
        self.start = self.bytes.count
        self.word(0)
        self.half(UInt16(type))
        self.half(UInt16(NLM_F_REQUEST | flags))
        self.word(sequence)
        self.word(0)
    }

    private mutating func end() {
        let length = UInt32(self.bytes.count - self.start)
        self.bytes.withUnsafeMutableBytes { [start = self.start] in $0.storeBytes(of: length, toByteOffset: start, as: UInt32.self) }
    }

    private mutating func attribute(_ type: Int, word: UInt32) {
        self.attributeHeader(type, count: 4)
        self.word(word)
    }

    private mutating func attribute(_ type: Int, octets address: IPAddress) {
        self.attributeHeader(type, count: address.family.bits / 8)
        self.body(address.octets)
    }

    private mutating func attributeHeader(_ type: Int, count: Int) {
        self.half(UInt16(4 + count))
        self.half(UInt16(type))
    }

    private mutating func body(_ bytes: [UInt8]) { self.bytes.append(contentsOf: bytes) }

    private mutating func half(_ value: UInt16) { withUnsafeBytes(of: value) { self.bytes.append(contentsOf: $0) } }

    private mutating func word(_ value: UInt32) { withUnsafeBytes(of: value) { self.bytes.append(contentsOf: $0) } }
}
