internal import TidegateCore
internal import TidegateNetwork
package import TidegateCEL

/// What the prober `dns` asks, and what it takes for a success.
package struct DNSProbeOptions: Sendable, Hashable {
    /// How questions travel.
    package enum Transport: String, Sendable, CaseIterable {
        case udp, tcp
    }

    package var family = FamilyPreference()
    package var source = ProbeSource()
    package var transport = Transport.udp
    /// Whether the connection is encrypted (RFC 7858).
    package var isEncrypted = false
    package var tls = ProbeTLSOptions()

    /// The name that is asked about; empty for the root.
    package var name = ""
    /// The type of the records, such as `MX`.
    package var type = "ANY"
    /// Their class, such as `CH`.
    package var recordClass = "IN"
    package var isRecursive = true

    /// The response codes that are a success; empty for NOERROR.
    package var validCodes: [Int] = []
    package var answers = DNSRecordConditions()
    package var authorities = DNSRecordConditions()
    package var additionals = DNSRecordConditions()

    /// blackbox_exporter's defaults.
    package init() {}

    /// The port that servers are asked at.
    var defaultPort: UInt16 { self.isEncrypted ? 853 : 53 }
}

extension DNSProbeOptions {
    /// True if there is a type of records of that name.
    package static func isRecordType(_ name: String) -> Bool { DNSQuery.isRecordType(name) }

    /// True if there is a class of records of that name.
    package static func isRecordClass(_ name: String) -> Bool { DNSQuery.isRecordClass(name) }

    /// True if a question can be about this name.
    package static func isName(_ text: String) -> Bool { DNSQuery(text, type: "ANY", id: 0) != nil }

    /// The number of a response code such as `NXDOMAIN`; nil if no code has that name.
    package static func code(of name: String) -> Int? { DNSReply.codeNames.first { $0.value == name }?.key }
}

/// Conditions on the records of a section, as text.
package struct DNSRecordConditions: Sendable, Hashable {
    /// Fails if any record matches any of them.
    package var failsIfMatches: [RegularExpression] = []
    /// As blackbox_exporter has it, in spite of the key's name: fails unless every record matches all of them.
    package var failsIfAllMatch: [RegularExpression] = []
    /// Fails if any record does not match any of them, and without records.
    package var failsIfNotMatches: [RegularExpression] = []
    /// Fails if no record matches any of them.
    package var failsIfNoneMatches: [RegularExpression] = []

    /// No condition.
    package init() {}

    /// What is wrong with the records, in one clause; nil if nothing is.
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
