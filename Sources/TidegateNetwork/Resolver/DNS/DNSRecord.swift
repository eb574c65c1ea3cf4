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
    static func lowercased(_ name: [UInt8]) -> [UInt8] {
        name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}

/// The response code of an answer (RFC 6895 2.3).
enum DNSResponseCode: Sendable, Hashable {
    case noError
    case nameNotFound
    case failure(String)

    init(number: UInt8) {
        let names = [
            1: "FORMERR", 2: "SERVFAIL", 4: "NOTIMP", 5: "REFUSED", 6: "YXDOMAIN", 7: "YXRRSET", 8: "NXRRSET",
            9: "NOTAUTH", 10: "NOTZONE",
        ]
        self =
            switch number {
            case 0: .noError
            case 3: .nameNotFound
            default: .failure(names[Int(number)] ?? "RCODE\(number)")
            }
    }
}
