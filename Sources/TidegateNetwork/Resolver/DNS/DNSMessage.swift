internal import CLdns
internal import Glibc
internal import TidegateCore

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

extension DNSMessage {
    enum Section {
        case answer, authority, additional
    }

    /// The response code with the upper bits of EDNS.
    var extendedCode: Int {
        self.code | Int(ldns_pkt_edns_extended_rcode(self.raw)) << 4
    }

    /// The number of a type; nil if there is none of that name.
    static func typeNumber(of name: String) -> UInt16? {
        guard !name.utf8.contains(0), name == name.uppercased() else { return nil }
        let number = ldns_get_rr_type_by_name(name).rawValue
        return number == 0 ? nil : UInt16(exactly: number)
    }

    /// A question as bytes; nil if the name is invalid.
    static func question(
        _ name: String, type: UInt16, class: UInt16, recursionDesired: Bool, id: UInt16
    ) -> [UInt8]? {
        var raw: UnsafeMutablePointer<ldns_pkt>?
        guard !name.utf8.contains(0),
            ldns_pkt_query_new_frm_str(
                &raw, name.isEmpty ? "." : name, ldns_rr_type(rawValue: UInt32(type)),
                ldns_rr_class(rawValue: UInt32(`class`)), recursionDesired ? UInt16(LDNS_RD) : 0) == LDNS_STATUS_OK,
            let raw
        else { return nil }
        defer { ldns_pkt_free(raw) }
        ldns_pkt_set_id(raw, id)
        var wire: UnsafeMutablePointer<UInt8>?
        var size = 0
        guard ldns_pkt2wire(&wire, raw, &size) == LDNS_STATUS_OK, let wire else { return nil }
        defer { free(wire) }
        return Array(UnsafeBufferPointer(start: wire, count: size))
    }

    /// The records of a section as text, the pseudo record of EDNS included.
    func texts(of section: Section) -> [DNSReply.Record] {
        let list =
            switch section {
            case .answer: ldns_pkt_answer(self.raw)
            case .authority: ldns_pkt_authority(self.raw)
            case .additional: ldns_pkt_additional(self.raw)
            }
        let records = list.map { list in
            (0..<ldns_rr_list_rr_count(list)).compactMap { ldns_rr_list_rr(list, $0).flatMap(Self.text) }
        }
        guard section == .additional, ldns_pkt_edns(self.raw) != 0 else { return records ?? [] }
        let flags = ldns_pkt_edns_do(self.raw) != 0 ? " do" : ""
        let edns =
            "\n;; OPT PSEUDOSECTION:\n; EDNS: version \(ldns_pkt_edns_version(self.raw)); flags:\(flags); udp: "
            + "\(ldns_pkt_edns_udp_size(self.raw))"
        return (records ?? []) + [DNSReply.Record(text: edns, serial: nil)]
    }

    private static func text(_ record: UnsafeMutablePointer<ldns_rr>) -> DNSReply.Record? {
        guard let bytes = tg_record_text(record) else { return nil }
        defer { free(bytes) }
        let type = ldns_rr_get_type(record)
        var serial: UInt32?
        if type == LDNS_RR_TYPE_SOA, let field = ldns_rr_rdf(record, 2), ldns_rdf_size(field) == 4 {
            serial = ldns_rdf2native_int32(field)
        }
        return DNSReply.Record(text: self.inGoDialect(String(cString: bytes), type), serial: serial)
    }

    // Regular expressions were written for the text of blackbox_exporter's library: it has no blank at the end, and some
    // digests in capital letters.
    private static func inGoDialect(_ text: String, _ type: ldns_rr_type) -> String {
        var text = Substring(text)
        while let last = text.last, last.isWhitespace { text.removeLast() }
        var fields = text.split(separator: "\t", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 5 else { return String(text) }
        switch type {
        case LDNS_RR_TYPE_DS, LDNS_RR_TYPE_CDS, LDNS_RR_TYPE_SSHFP, LDNS_RR_TYPE_NSEC3, LDNS_RR_TYPE_NSEC3PARAM:
            // ldns has two blanks behind the salt of NSEC3.
            fields[4] = fields[4].uppercased().split(separator: " ").joined(separator: " ")
        default: break
        }
        return fields.joined(separator: "\t")
    }
}

/// A name server's reply with its records as text (RFC 1035 4.1, 5.1).
package struct DNSReply: Sendable, Hashable {
    /// A resource record.
    package struct Record: Sendable, Hashable {
        /// The record on one line, as zone files have it: name, TTL, class, type and data, separated by tabs.
        package var text: String
        /// The serial number, if it is an SOA record.
        package var serial: UInt32?
    }

    /// The id of its question.
    package var id: UInt16
    /// The response code's number, with the upper bits of EDNS (RFC 6891 6.1.3).
    package var code: Int
    package var answers: [Record]
    package var authorities: [Record]
    package var additionals: [Record]
    /// The message after its header; empty if it has no question.
    private let content: [UInt8]

    /// Parses a message; nil if it is malformed or no reply.
    package init?(_ bytes: [UInt8]) {
        guard let message = DNSMessage.parse(bytes), message.isReply else { return nil }
        self.id = message.id
        self.code = message.extendedCode
        self.answers = message.texts(of: .answer)
        self.authorities = message.texts(of: .authority)
        self.additionals = message.texts(of: .additional)
        self.content = message.questionCount == 0 ? [] : Array(bytes.dropFirst(Self.headerLength))
    }

    static let headerLength = 12

    /// True if the question of a message is repeated, whatever the case of its letters (RFC 5452 9.1); some servers
    /// leave it out of a failure.
    package func isAbout(_ question: [UInt8]) -> Bool {
        guard !self.content.isEmpty else { return self.code != 0 }
        let asked = question.dropFirst(Self.headerLength)
        let repeated = self.content.prefix(asked.count)
        // Type and class are the last four bytes.
        return repeated.suffix(4) == asked.suffix(4)
            && DNSRecord.lowercased(repeated.dropLast(4)) == DNSRecord.lowercased(asked.dropLast(4))
    }

    /// A question as a message, of any type or in the Internet's class if there is none of that name; nil if the name
    /// cannot be in one (RFC 1035 2.3.4).
    package static func question(
        _ name: String, type: String, class: String, recursionDesired: Bool, id: UInt16
    ) -> [UInt8]? {
        DNSMessage.question(
            name, type: DNSMessage.typeNumber(of: type) ?? 255, class: self.classes[`class`] ?? 1,
            recursionDesired: recursionDesired, id: id)
    }

    /// A message as a stream has it: after its length in two octets (RFC 1035 4.2.2).
    package static func framed(_ message: [UInt8]) -> [UInt8] {
        let length = UInt16(clamping: message.count)
        return [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + message
    }

    /// True if there is a type of records of that name, such as `MX`.
    package static func isRecordType(_ name: String) -> Bool { DNSMessage.typeNumber(of: name) != nil }

    /// True if there is a class of records of that name, such as `CH`.
    package static func isRecordClass(_ name: String) -> Bool { self.classes[name] != nil }

    private static let classes: [String: UInt16] = ["IN": 1, "CS": 2, "CH": 3, "HS": 4, "NONE": 254, "ANY": 255]

    /// The names of response codes by their numbers (RFC 6895 2.3).
    package static let codeNames = [
        0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED", 6: "YXDOMAIN",
        7: "YXRRSET",
        8: "NXRRSET", 9: "NOTAUTH", 10: "NOTZONE", 16: "BADSIG", 17: "BADKEY", 18: "BADTIME", 19: "BADMODE",
        20: "BADNAME", 21: "BADALG", 22: "BADTRUNC", 23: "BADCOOKIE",
    ]

    /// A response code's name, or `RCODE` with its number.
    package static func codeName(_ code: Int) -> String { self.codeNames[code] ?? "RCODE\(code)" }
}

/// Parses a packet as the answer to a question.
enum DNSMessageParser {
    enum Result: Sendable, Hashable {
        /// Not an answer to this question: another one's, a forgery, or garbage.
        case foreign
        /// The answer did not fit; the outcome of what is there can be used if the rest cannot be fetched.
        case truncated(DNSOutcome?)
        /// The answer.
        case whole(DNSOutcome)
    }

    // Longer than any chain that resolvers follow.
    private static let longestChain = 16

    static func parse(_ bytes: [UInt8], of query: DNSQuery) -> Result {
        guard let message = DNSMessage.parse(bytes), message.id == query.id, message.isReply else { return .foreign }
        let failure = DNSOutcome.failed(code: DNSReply.codeName(message.code))
        // Some servers omit the question from a failure.
        if message.questionCount == 0, ![0, 3].contains(message.code) { return .whole(failure) }
        let questions = message.questions
        guard message.questionCount == 1, let question = questions.first, question.owner == query.name,
            question.kind == .address(query.type)
        else { return .foreign }
        let outcome =
            switch message.code {
            case 0: self.follow(message.answers, from: query)
            case 3: DNSOutcome.nameNotFound
            default: failure
            }
        // An answer truncated before the first address does not mean that there is none.
        return message.isTruncated ? .truncated(outcome == .noData ? nil : outcome) : .whole(outcome)
    }

    private static func follow(_ records: [DNSRecord], from query: DNSQuery) -> DNSOutcome {
        var name = query.name
        var shortest = UInt32(Int32.max)
        for _ in 0..<self.longestChain {
            let own = records.filter { $0.owner == name }
            let matching = own.filter { $0.kind == .address(query.type) }
            if !matching.isEmpty {
                let addresses = self.addresses(matching, query.type)
                shortest = matching.reduce(shortest) { min($0, self.seconds($1)) }
                return addresses.isEmpty
                    ? .failed(code: "MALFORMED") : .answered(addresses, timeToLive: .seconds(shortest))
            }
            guard let alias = own.first(where: { $0.kind == .alias }) else { return .noData }
            shortest = min(shortest, self.seconds(alias))
            name = DNSRecord.lowercased(alias.data)
        }
        return .failed(code: "MALFORMED")
    }

    private static func addresses(_ records: [DNSRecord], _ type: DNSQuestion.RecordType) -> [IPAddress] {
        var addresses: [IPAddress] = []
        for record in records {
            guard record.data.count == type.family.bits / 8, let address = IPAddress(octets: record.data),
                !addresses.contains(address)
            else { continue }
            addresses.append(address)
        }
        return addresses
    }

    // With the highest bit set it is treated as 0 (RFC 2181 8).
    private static func seconds(_ record: DNSRecord) -> UInt32 {
        record.timeToLive > UInt32(Int32.max) ? 0 : record.timeToLive
    }
}
