internal import CNetlink
internal import TidegateCore

/// The attributes of one message; valid only during the call that passes them.
///
/// They are searched in place: a message of many attributes is best read in one pass.
struct Attributes {
    private let content: UnsafeRawBufferPointer

    /// The attributes inside an attribute, or after a fixed part that is not a message's.
    init(_ content: UnsafeRawBufferPointer) { self.content = content }

    /// The attributes of a message with `fixedBytes` before them; nil if the message is shorter.
    init?(_ message: UnsafeMutablePointer<nlmsghdr>, fixedBytes: Int) {
        guard nlmsg_valid_hdr(message, Int32(fixedBytes)) != 0 else { return nil }
        let bytes = UnsafeRawBufferPointer(start: message, count: Int(message.pointee.nlmsg_len))
        let start = MemoryLayout<nlmsghdr>.size + (fixedBytes + 3) / 4 * 4
        self.content = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(start))
    }

    /// The content of the last attribute of a type, ignoring everything after an invalid length.
    subscript(_ type: some BinaryInteger) -> UnsafeRawBufferPointer? {
        let wanted = Int(type)
        var found: UnsafeRawBufferPointer?
        _ = self.each { type, bytes in
            if type == wanted { found = bytes }
        }
        return found
    }

    /// Passes the attributes on in their order; false if a length is invalid.
    @inline(__always)
    func each(_ body: (Int, UnsafeRawBufferPointer) -> Void) -> Bool {
        let bytes = self.content
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
}

/// Interpretations of an attribute's content.
extension UnsafeRawBufferPointer {
    var word: UInt32? { self.count >= 4 ? self.loadUnaligned(as: UInt32.self) : nil }

    var half: UInt16? { self.count >= 2 ? self.loadUnaligned(as: UInt16.self) : nil }

    var text: String { String(decoding: self.prefix { $0 != 0 }, as: UTF8.self) }

    var address: IPAddress? {
        switch self.count {
        case 4: IPAddress(ipv4: UInt32(bigEndian: self.loadUnaligned(as: UInt32.self)))
        case 16:
            IPAddress(
                ipv6: UInt64(bigEndian: self.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: self.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        default: nil
        }
    }

    /// RTA_VIA: a family and an address of that family (struct rtvia).
    var via: IPAddress? {
        self.count > 2 ? UnsafeRawBufferPointer(rebasing: self.dropFirst(2)).address : nil
    }
}
