internal import TidegateNetwork
package import TidegateCEL

/// The query of the prober `dns`, and its conditions for success.
package struct DNSProbeOptions: Sendable, Hashable {
    /// The transport of queries.
    package enum Transport: String, Sendable, CaseIterable {
        case udp, tcp
    }

    package var family = FamilyPreference()
    package var source = ProbeSource()
    package var transport = Transport.udp
    /// True if the connection is encrypted (RFC 7858).
    package var isEncrypted = false
    package var tls = ProbeTLSOptions()

    /// The name to query; empty for the root.
    package var name = ""
    /// The record type, such as `MX`.
    package var type = "ANY"
    /// The record class, such as `CH`.
    package var recordClass = "IN"
    package var isRecursive = true

    /// The successful response codes; empty for NOERROR only.
    package var validCodes: [Int] = []
    package var answers = DNSRecordConditions()
    package var authorities = DNSRecordConditions()
    package var additionals = DNSRecordConditions()

    /// blackbox_exporter's defaults.
    package init() {}

    /// The default port of servers.
    var defaultPort: UInt16 { self.isEncrypted ? 853 : 53 }
}

extension DNSProbeOptions {
    /// True for the name of a record type.
    package static func isRecordType(_ name: String) -> Bool { DNSQuery.isRecordType(name) }

    /// True for the name of a record class.
    package static func isRecordClass(_ name: String) -> Bool { DNSQuery.isRecordClass(name) }

    /// True if the text is a valid name for a query.
    package static func isName(_ text: String) -> Bool { DNSQuery(text, type: "ANY", id: 0) != nil }

    /// The number of a response code such as `NXDOMAIN`; nil for an unknown name.
    package static func code(of name: String) -> Int? { DNSReply.codeNames.first { $0.value == name }?.key }
}

/// Conditions on the records of a section in text form.
package struct DNSRecordConditions: Sendable, Hashable {
    /// Fails if any record matches any of them.
    package var failsIfMatches: [RegularExpression] = []
    /// As in blackbox_exporter, and in spite of the key's name: fails unless every record matches all of them.
    package var failsIfAllMatch: [RegularExpression] = []
    /// Fails if any record does not match any of them, or if there are no records.
    package var failsIfNotMatches: [RegularExpression] = []
    /// Fails if no record matches any of them.
    package var failsIfNoneMatches: [RegularExpression] = []

    /// The problem with the records, as one clause; nil if they pass.
    func problem(of records: [DNSReply.Record]) -> String? {
        func matches(_ expression: RegularExpression, _ record: DNSReply.Record) -> Bool {
            expression.matches(Array(record.text.utf8))
        }
        func quoted(_ record: DNSReply.Record) -> String { record.text.replacing("\t", with: " ") }
        if records.isEmpty, let expression = (self.failsIfNotMatches + self.failsIfNoneMatches).first {
            return "there is no record to match \"\(expression.pattern)\""
        }
        for record in records {
            if let expression = self.failsIfMatches.first(where: { matches($0, record) }) {
                return "the record \"\(quoted(record))\" matches \"\(expression.pattern)\""
            }
            if let expression = self.failsIfNotMatches.first(where: { !matches($0, record) }) {
                return "the record \"\(quoted(record))\" does not match \"\(expression.pattern)\""
            }
        }
        for record in records {
            if let expression = self.failsIfAllMatch.first(where: { !matches($0, record) }) {
                return "the record \"\(quoted(record))\" does not match \"\(expression.pattern)\""
            }
        }
        let isFound = records.contains { record in self.failsIfNoneMatches.contains { matches($0, record) } }
        guard let expression = self.failsIfNoneMatches.first, !isFound else { return nil }
        return "no record matches \"\(expression.pattern)\""
    }
}
