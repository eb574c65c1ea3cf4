internal import CLdns
internal import Glibc

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
