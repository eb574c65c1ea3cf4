/// The parts of a resource record that address lookups need (RFC 1035 3.2).
struct DNSRecord: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case address(DNSQuestion.RecordType)
        case alias
        case other
    }

    /// The name as in the packet, uncompressed and in lower case.
    let owner: [UInt8]
    let kind: Kind
    /// In seconds.
    let timeToLive: UInt32
    /// Its first field: an address, or the name behind an alias.
    let data: [UInt8]

    /// Names are compared without regard to case (RFC 4343); a label's length is never a letter.
    static func lowercased(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
