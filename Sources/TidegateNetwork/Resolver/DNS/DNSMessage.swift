internal import CLdns
internal import Glibc
internal import TidegateCore

/// A question as a packet (RFC 1035 4.1).
package struct DNSQuery: Sendable, Hashable {
    /// The id that matches the answer to the question.
    let id: UInt16
    /// The number of the requested record type.
    let type: UInt16
    /// The whole packet.
    package let bytes: [UInt8]

    /// Creates a question; an unknown `type` requests any type, an unknown `class` the Internet class.
    ///
    /// Nil if the name does not fit into a question (RFC 1035 2.3.4).
    package init?(_ name: String, type: String, class: String = "IN", isRecursive: Bool = true, id: UInt16) {
        let number = Self.typeNumber(of: type) ?? 255
        var raw: UnsafeMutablePointer<ldns_pkt>?
        guard !name.utf8.contains(0),
            ldns_pkt_query_new_frm_str(
                &raw, name.isEmpty ? "." : name, ldns_rr_type(rawValue: UInt32(number)),
                ldns_rr_class(rawValue: Self.classes[`class`] ?? 1), isRecursive ? UInt16(LDNS_RD) : 0)
                == LDNS_STATUS_OK, let raw
        else { return nil }
        defer { ldns_pkt_free(raw) }
        ldns_pkt_set_id(raw, id)
        var wire: UnsafeMutablePointer<UInt8>?
        var size = 0
        guard ldns_pkt2wire(&wire, raw, &size) == LDNS_STATUS_OK, let wire else { return nil }
        defer { free(wire) }
        (self.id, self.type) = (id, number)
        self.bytes = Array(UnsafeBufferPointer(start: wire, count: size))
    }

    /// A question for addresses; nil if the name is invalid.
    init?(_ name: String, _ type: DNSQuestion.RecordType, id: UInt16) {
        guard !name.isEmpty else { return nil }
        self.init(name, type: type.rawValue, id: id)
    }

    /// The packet as sent on a stream: preceded by its length in two octets (RFC 1035 4.2.2).
    package var framed: [UInt8] {
        let length = UInt16(clamping: self.bytes.count)
        return [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + self.bytes
    }

    /// The name in the packet's format, in lower case.
    var name: [UInt8] { DNSRecord.lowercased(self.bytes.dropFirst(Self.headerLength).dropLast(4)) }

    private static let headerLength = 12

    /// True if a message repeats the question, ignoring case (RFC 5452 9.1).
    func isRepeated(in message: [UInt8]) -> Bool {
        let repeated = message.dropFirst(Self.headerLength).prefix(self.bytes.count - Self.headerLength)
        // Type and class are the last four bytes.
        return repeated.suffix(4) == self.bytes.suffix(4) && DNSRecord.lowercased(repeated.dropLast(4)) == self.name
    }

    /// True if `name` is a record type, such as `MX`.
    package static func isRecordType(_ name: String) -> Bool { self.typeNumber(of: name) != nil }

    /// True if `name` is a record class, such as `CH`.
    package static func isRecordClass(_ name: String) -> Bool { self.classes[name] != nil }

    private static let classes: [String: UInt32] = ["IN": 1, "CS": 2, "CH": 3, "HS": 4, "NONE": 254, "ANY": 255]

    // Nil if no type has that name.
    private static func typeNumber(of name: String) -> UInt16? {
        guard !name.utf8.contains(0), name == name.uppercased() else { return nil }
        let number = ldns_get_rr_type_by_name(name).rawValue
        return number == 0 ? nil : UInt16(exactly: number)
    }
}

/// A DNS packet parsed by ldns (RFC 1035 4.1).
struct DNSMessage: ~Copyable {
    private let raw: UnsafeMutablePointer<ldns_pkt>

    /// Parses a packet; nil if ldns cannot parse it.
    init?(_ bytes: [UInt8]) {
        var raw: UnsafeMutablePointer<ldns_pkt>?
        guard ldns_wire2pkt(&raw, bytes, bytes.count) == LDNS_STATUS_OK, let raw else {
            ldns_pkt_free(raw)
            return nil
        }
        self.raw = raw
    }

    deinit { ldns_pkt_free(self.raw) }

    var id: UInt16 { ldns_pkt_id(self.raw) }
    var isTruncated: Bool { ldns_pkt_tc(self.raw) != 0 }
    /// True for the answer to a question.
    var isReply: Bool { ldns_pkt_qr(self.raw) != 0 && ldns_pkt_get_opcode(self.raw) == LDNS_PACKET_QUERY }
    var code: Int { Int(ldns_pkt_get_rcode(self.raw).rawValue) }
    /// The response code with the upper bits of EDNS.
    var extendedCode: Int { self.code | Int(ldns_pkt_edns_extended_rcode(self.raw)) << 4 }
    var questionCount: Int { Int(ldns_pkt_qdcount(self.raw)) }
    /// The answers of the Internet class.
    var answers: [DNSRecord] { Self.map(ldns_pkt_answer(self.raw), DNSRecord.init) }

    var answerTexts: [DNSReply.Record] { Self.map(ldns_pkt_answer(self.raw), DNSReply.Record.init) }
    var authorityTexts: [DNSReply.Record] { Self.map(ldns_pkt_authority(self.raw), DNSReply.Record.init) }
    /// The additional records, with the EDNS pseudo record.
    var additionalTexts: [DNSReply.Record] {
        let records = Self.map(ldns_pkt_additional(self.raw), DNSReply.Record.init)
        guard ldns_pkt_edns(self.raw) != 0 else { return records }
        let flags = ldns_pkt_edns_do(self.raw) != 0 ? " do" : ""
        let edns =
            "\n;; OPT PSEUDOSECTION:\n; EDNS: version \(ldns_pkt_edns_version(self.raw)); flags:\(flags); udp: "
            + "\(ldns_pkt_edns_udp_size(self.raw))"
        return records + [DNSReply.Record(text: edns)]
    }

    private static func map<Record>(
        _ list: UnsafeMutablePointer<ldns_rr_list>?, _ read: (UnsafeMutablePointer<ldns_rr>) -> Record?
    ) -> [Record] {
        guard let list else { return [] }
        return (0..<ldns_rr_list_rr_count(list)).compactMap { ldns_rr_list_rr(list, $0).flatMap(read) }
    }
}

/// The parts of a resource record that address lookups need (RFC 1035 3.2).
struct DNSRecord: Sendable, Hashable {
    /// The type number of CNAME.
    static let alias: UInt16 = 5

    /// The name in the packet's format, uncompressed and in lower case.
    let owner: [UInt8]
    /// The type number.
    let type: UInt16
    /// The time to live in seconds; a value with the highest bit set is treated as 0 (RFC 2181 8).
    let timeToLive: UInt32
    /// Its first field: an address, or the name behind an alias.
    let data: [UInt8]

    /// Nil for any other class than the Internet class.
    init?(_ record: UnsafeMutablePointer<ldns_rr>) {
        guard let owner = Self.bytes(ldns_rr_owner(record)), ldns_rr_get_class(record) == LDNS_RR_CLASS_IN else {
            return nil
        }
        self.owner = Self.lowercased(owner)
        self.type = UInt16(truncatingIfNeeded: ldns_rr_get_type(record).rawValue)
        self.timeToLive = ldns_rr_ttl(record) > UInt32(Int32.max) ? 0 : ldns_rr_ttl(record)
        self.data = (ldns_rr_rd_count(record) > 0 ? Self.bytes(ldns_rr_rdf(record, 0)) : nil) ?? []
    }

    private static func bytes(_ field: UnsafeMutablePointer<ldns_rdf>?) -> [UInt8]? {
        guard let field, let data = ldns_rdf_data(field) else { return nil }
        return Array(UnsafeBufferPointer(start: data, count: ldns_rdf_size(field)))
    }

    /// Converts a name to lower case, because names are compared ignoring case (RFC 4343); a length octet is never a
    /// letter.
    static func lowercased(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}

/// A name server's reply with its records as text (RFC 1035 4.1, 5.1).
package struct DNSReply: Sendable, Hashable {
    /// A resource record.
    package struct Record: Sendable, Hashable {
        /// The record on one line in zone file format: name, TTL, class, type and data, separated by tabs.
        package var text: String
        /// The serial number of an SOA record; nil for other types.
        package var serial: UInt32?
    }

    /// The response code's number, with the upper bits of EDNS (RFC 6891 6.1.3).
    package var code: Int
    package var answers: [Record]
    package var authorities: [Record]
    package var additionals: [Record]

    /// Parses a message; nil if it is malformed or not a reply to the question, which some servers omit from failures.
    package init?(_ bytes: [UInt8], to query: DNSQuery) {
        guard let message = DNSMessage(bytes), message.isReply, message.id == query.id,
            message.questionCount == 0 ? message.extendedCode != 0 : query.isRepeated(in: bytes)
        else { return nil }
        self.code = message.extendedCode
        self.answers = message.answerTexts
        self.authorities = message.authorityTexts
        self.additionals = message.additionalTexts
    }

    /// The names of response codes by number (RFC 6895 2.3).
    package static let codeNames = [
        0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED", 6: "YXDOMAIN",
        7: "YXRRSET",
        8: "NXRRSET", 9: "NOTAUTH", 10: "NOTZONE", 16: "BADSIG", 17: "BADKEY", 18: "BADTIME", 19: "BADMODE",
        20: "BADNAME", 21: "BADALG", 22: "BADTRUNC", 23: "BADCOOKIE",
    ]

    /// A response code's name, or `RCODE` and the number.
    package static func codeName(_ code: Int) -> String { self.codeNames[code] ?? "RCODE\(code)" }
}

extension DNSReply.Record {
    fileprivate init?(_ record: UnsafeMutablePointer<ldns_rr>) {
        guard let bytes = tg_record_text(record) else { return nil }
        defer { free(bytes) }
        let type = ldns_rr_get_type(record)
        self.text = Self.inGoDialect(String(cString: bytes), type)
        if type == LDNS_RR_TYPE_SOA, let field = ldns_rr_rdf(record, 2), ldns_rdf_size(field) == 4 {
            self.serial = ldns_rdf2native_int32(field)
        }
    }

    // Existing regular expressions match the text of blackbox_exporter's library: no trailing blank, and some digests
    // in upper case.
    private static func inGoDialect(_ text: String, _ type: ldns_rr_type) -> String {
        var text = Substring(text)
        while let last = text.last, last.isWhitespace { text.removeLast() }
        var fields = text.split(separator: "\t", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 5 else { return String(text) }
        switch type {
        case LDNS_RR_TYPE_DS, LDNS_RR_TYPE_CDS, LDNS_RR_TYPE_SSHFP, LDNS_RR_TYPE_NSEC3, LDNS_RR_TYPE_NSEC3PARAM:
            // ldns writes two blanks after the salt of NSEC3.
            fields[4] = fields[4].uppercased().split(separator: " ").joined(separator: " ")
        default: break
        }
        return fields.joined(separator: "\t")
    }
}

/// Parses a packet as the answer to a question.
enum DNSMessageParser {
    enum Result: Sendable, Hashable {
        /// Not an answer to this question: one to another question, a forgery, or garbage.
        case foreign
        /// The answer was truncated; the outcome of the partial answer is used if the rest cannot be fetched.
        case truncated(DNSOutcome?)
        /// The complete answer.
        case whole(DNSOutcome)
    }

    // Longer than any chain that resolvers follow.
    private static let longestChain = 16

    static func parse(_ bytes: [UInt8], of query: DNSQuery) -> Result {
        guard let message = DNSMessage(bytes), message.id == query.id, message.isReply else { return .foreign }
        let failure = DNSOutcome.failed(code: DNSReply.codeName(message.code))
        // Some servers omit the question from a failure.
        if message.questionCount == 0, ![0, 3].contains(message.code) { return .whole(failure) }
        guard message.questionCount == 1, query.isRepeated(in: bytes) else { return .foreign }
        let outcome =
            switch message.code {
            case 0: self.follow(message.answers, from: query)
            case 3: DNSOutcome.nameNotFound
            default: failure
            }
        // An answer truncated before the first address does not mean that the name has none.
        return message.isTruncated ? .truncated(outcome == .noData ? nil : outcome) : .whole(outcome)
    }

    private static func follow(_ records: [DNSRecord], from query: DNSQuery) -> DNSOutcome {
        var name = query.name
        var shortest = UInt32(Int32.max)
        for _ in 0..<self.longestChain {
            let own = records.filter { $0.owner == name }
            let matching = own.filter { $0.type == query.type }
            if !matching.isEmpty {
                // ldns parses no address whose length does not match its type.
                let found = matching.compactMap { IPAddress(octets: $0.data) }
                let addresses: [IPAddress] = found.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
                shortest = matching.reduce(shortest) { min($0, $1.timeToLive) }
                return addresses.isEmpty
                    ? .failed(code: "MALFORMED") : .answered(addresses, timeToLive: .seconds(shortest))
            }
            guard let alias = own.first(where: { $0.type == DNSRecord.alias }) else { return .noData }
            shortest = min(shortest, alias.timeToLive)
            name = DNSRecord.lowercased(alias.data)
        }
        return .failed(code: "MALFORMED")
    }
}
