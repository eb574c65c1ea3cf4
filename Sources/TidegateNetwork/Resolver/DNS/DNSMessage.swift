internal import CLdns
internal import Glibc

/// A question for addresses as a packet.
struct DNSQuery: Sendable, Hashable {
    /// The id by which the answer is matched.
    let id: UInt16
    let type: DNSQuestion.RecordType
    /// The name as in the packet, in lower case.
    let name: [UInt8]
    /// The whole packet.
    let bytes: [UInt8]

    /// A question with recursion desired; nil if the name is invalid (RFC 1035 2.3.4).
    init?(_ name: String, _ type: DNSQuestion.RecordType, id: UInt16) {
        let question = DNSReply.question(name, type: type.rawValue, class: "IN", recursionDesired: true, id: id)
        guard !name.isEmpty, let question else { return nil }
        (self.id, self.type, self.bytes) = (id, type, question)
        // Type and class are the last four bytes.
        self.name = DNSRecord.lowercased(question[DNSReply.headerLength...].dropLast(4))
    }
}

/// A DNS packet of ldns (RFC 1035 4.1).
struct DNSMessage: ~Copyable {
    let raw: UnsafeMutablePointer<ldns_pkt>

    private init(raw: UnsafeMutablePointer<ldns_pkt>) { self.raw = raw }

    deinit { ldns_pkt_free(self.raw) }

    /// A packet that was received; nil if ldns cannot parse it.
    static func parse(_ bytes: [UInt8]) -> DNSMessage? {
        var raw: UnsafeMutablePointer<ldns_pkt>?
        let status = ldns_wire2pkt(&raw, bytes, bytes.count)
        guard let raw else { return nil }
        guard status == LDNS_STATUS_OK else {
            ldns_pkt_free(raw)
            return nil
        }
        return DNSMessage(raw: raw)
    }

    var id: UInt16 { ldns_pkt_id(self.raw) }
    var isTruncated: Bool { ldns_pkt_tc(self.raw) != 0 }
    /// True for the answer to a question.
    var isReply: Bool { ldns_pkt_qr(self.raw) != 0 && ldns_pkt_get_opcode(self.raw) == LDNS_PACKET_QUERY }
    var code: Int { Int(ldns_pkt_get_rcode(self.raw).rawValue) }
    var questionCount: Int { Int(ldns_pkt_qdcount(self.raw)) }
    var questions: [DNSRecord] { DNSMessage.records(ldns_pkt_question(self.raw)) }
    var answers: [DNSRecord] { DNSMessage.records(ldns_pkt_answer(self.raw)) }

    private static func records(_ list: UnsafeMutablePointer<ldns_rr_list>?) -> [DNSRecord] {
        guard let list else { return [] }
        return (0..<ldns_rr_list_rr_count(list)).compactMap { ldns_rr_list_rr(list, $0).flatMap(self.record) }
    }

    private static func record(_ record: UnsafeMutablePointer<ldns_rr>) -> DNSRecord? {
        guard let owner = self.bytes(ldns_rr_owner(record)), ldns_rr_get_class(record) == LDNS_RR_CLASS_IN else {
            return nil
        }
        let data = ldns_rr_rd_count(record) > 0 ? self.bytes(ldns_rr_rdf(record, 0)) : nil
        let kind: DNSRecord.Kind =
            switch ldns_rr_get_type(record) {
            case LDNS_RR_TYPE_A: .address(.a)
            case LDNS_RR_TYPE_AAAA: .address(.aaaa)
            case LDNS_RR_TYPE_CNAME: .alias
            default: .other
            }
        return DNSRecord(
            owner: DNSRecord.lowercased(owner), kind: kind, timeToLive: ldns_rr_ttl(record), data: data ?? [])
    }

    private static func bytes(_ field: UnsafeMutablePointer<ldns_rdf>?) -> [UInt8]? {
        guard let field, let data = ldns_rdf_data(field) else { return nil }
        return Array(UnsafeBufferPointer(start: data, count: ldns_rdf_size(field)))
    }
}

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
