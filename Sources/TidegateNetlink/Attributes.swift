internal import CNetlink
internal import Glibc
internal import TidegateModel

/// The attributes of one message by type; valid only inside the call that lends them.
struct Attributes {
    private let table: UnsafeMutableBufferPointer<UnsafeMutablePointer<nlattr>?>

    /// Parses the attributes of a message whose fixed part has `fixedBytes`; nil where their lengths make no sense.
    static func of<Result>(
        _ message: UnsafeMutablePointer<nlmsghdr>, fixedBytes: Int, highest: Int, _ body: (Attributes) -> Result?
    ) -> Result? {
        self.parse(highest: highest, { nlmsg_parse(message, Int32(fixedBytes), $0, Int32(highest), nil) }, body)
    }

    static func of<Result>(
        _ nexthop: UnsafePointer<rtnexthop>, highest: Int, _ body: (Attributes) -> Result?
    ) -> Result? {
        self.parse(highest: highest, { tg_nexthop_attributes(nexthop, $0, Int32(highest)) }, body)
    }

    /// Parses the attributes inside an attribute.
    func nested<Result>(_ type: Int, highest: Int, _ body: (Attributes) -> Result?) -> Result? {
        guard let attribute = self.table[type] else { return nil }
        return Attributes.parse(highest: highest, { nla_parse_nested($0, Int32(highest), attribute, nil) }, body)
    }

    private static func parse<Result>(
        highest: Int, _ parser: (UnsafeMutablePointer<UnsafeMutablePointer<nlattr>?>?) -> Int32,
        _ body: (Attributes) -> Result?
    ) -> Result? {
        withUnsafeTemporaryAllocation(of: UnsafeMutablePointer<nlattr>?.self, capacity: highest + 1) { table in
            table.initialize(repeating: nil)
            guard parser(table.baseAddress) >= 0 else { return nil }
            return body(Attributes(table: table))
        }
    }

    func bytes(_ type: Int) -> UnsafeRawBufferPointer? {
        guard let attribute = self.table[type] else { return nil }
        return UnsafeRawBufferPointer(start: nla_data(attribute), count: Int(nla_len(attribute)))
    }

    func byte(_ type: Int) -> UInt8? { self.bytes(type)?.first }

    func word(_ type: Int) -> UInt32? {
        guard let bytes = self.bytes(type), bytes.count >= 4 else { return nil }
        return bytes.loadUnaligned(as: UInt32.self)
    }

    func text(_ type: Int) -> String? {
        guard let bytes = self.bytes(type) else { return nil }
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    func address(_ type: Int) -> IPAddress? { self.bytes(type).flatMap { Attributes.address($0) } }

    /// RTA_VIA: a family and an address of it (struct rtvia).
    func via(_ type: Int) -> IPAddress? {
        guard let bytes = self.bytes(type), bytes.count > 2 else { return nil }
        return Attributes.address(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(2)))
    }

    func count(_ type: Int) -> Int { self.bytes(type)?.count ?? 0 }

    private static func address(_ bytes: UnsafeRawBufferPointer) -> IPAddress? {
        // Four octets are by far the most frequent case, and need no collection.
        if bytes.count == 4 { return IPAddress(ipv4: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))) }
        return IPAddress(octets: bytes)
    }
}
