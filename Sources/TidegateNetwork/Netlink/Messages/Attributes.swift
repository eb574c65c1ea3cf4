internal import CNetlink
internal import Glibc
internal import TidegateCore

/// The attributes of one message by type; valid only during the call that passes them.
struct Attributes {
    private let table: UnsafeMutableBufferPointer<UnsafeMutablePointer<nlattr>?>

    /// Parses the attributes of a message whose fixed part has `fixedBytes`; nil if their lengths are invalid.
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

    /// Passes the attributes on in their order, without a table, for messages that arrive by the ten thousand; false if a
    /// length is invalid.
    @inline(__always)
    static func each(
        _ message: UnsafeMutablePointer<nlmsghdr>, fixedBytes: Int, _ body: (Int, UnsafeRawBufferPointer) -> Void
    ) -> Bool {
        let bytes = UnsafeRawBufferPointer(start: message, count: Int(message.pointee.nlmsg_len))
        let start = MemoryLayout<nlmsghdr>.size + (fixedBytes + 3) / 4 * 4
        guard start <= bytes.count else { return true }
        return self.each(UnsafeRawBufferPointer(rebasing: bytes[start...]), body)
    }

    /// Passes the attributes inside an attribute on in their order; false if a length is invalid.
    @inline(__always)
    static func each(_ bytes: UnsafeRawBufferPointer, _ body: (Int, UnsafeRawBufferPointer) -> Void) -> Bool {
        var offset = 0
        while offset + 4 <= bytes.count {
            let length = Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            guard length >= 4, offset + length <= bytes.count else { return false }
            let type = Int(bytes.loadUnaligned(fromByteOffset: offset + 2, as: UInt16.self)) & 0x3FFF
            body(type, UnsafeRawBufferPointer(rebasing: bytes[offset + 4..<offset + length]))
            offset += (length + 3) / 4 * 4
        }
        return true
    }

    func bytes(_ type: Int) -> UnsafeRawBufferPointer? {
        guard let attribute = self.table[type] else { return nil }
        return UnsafeRawBufferPointer(start: nla_data(attribute), count: Int(nla_len(attribute)))
    }

    func byte(_ type: Int) -> UInt8? { self.bytes(type)?.first }

    func word(_ type: Int) -> UInt32? { self.bytes(type).flatMap { Attributes.word($0) } }

    func text(_ type: Int) -> String? {
        guard let bytes = self.bytes(type) else { return nil }
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    func address(_ type: Int) -> IPAddress? { self.bytes(type).flatMap { Attributes.address($0) } }

    /// RTA_VIA: a family and an address of that family (struct rtvia).
    func via(_ type: Int) -> IPAddress? { self.bytes(type).flatMap { Attributes.via($0) } }

    static func word(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
        bytes.count >= 4 ? bytes.loadUnaligned(as: UInt32.self) : nil
    }

    static func via(_ bytes: UnsafeRawBufferPointer) -> IPAddress? {
        bytes.count > 2 ? self.address(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(2))) : nil
    }

    static func address(_ bytes: UnsafeRawBufferPointer) -> IPAddress? {
        switch bytes.count {
        case 4: IPAddress(ipv4: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        case 16:
            IPAddress(
                ipv6: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        default: nil
        }
    }
}
