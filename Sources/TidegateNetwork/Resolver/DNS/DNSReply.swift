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
