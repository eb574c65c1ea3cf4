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
        guard let message = DNSMessage.parse(bytes), message.isResponse, message.isQuery else { return nil }
        self.id = message.id
        self.code = message.extendedCode
        self.answers = message.texts(of: .answer)
        self.authorities = message.texts(of: .authority)
        self.additionals = message.texts(of: .additional)
        self.content = message.questionCount == 0 ? [] : Array(bytes.dropFirst(Self.headerLength))
    }

    private static let headerLength = 12

    /// True if the question of a message is repeated, whatever the case of its letters (RFC 5452 9.1); some servers
    /// leave it out of a failure.
    package func isAbout(_ question: [UInt8]) -> Bool {
        guard !self.content.isEmpty else { return self.code != 0 }
        let asked = question.dropFirst(Self.headerLength)
        let repeated = self.content.prefix(asked.count)
        // Type and class are the last four bytes.
        return repeated.suffix(4) == asked.suffix(4)
            && DNSRecord.lowercased(Array(repeated.dropLast(4))) == DNSRecord.lowercased(Array(asked.dropLast(4)))
    }

    /// A question as a message; nil if the name cannot be in one (RFC 1035 2.3.4).
    package static func question(
        _ name: String, type: RecordType, class: RecordClass, recursionDesired: Bool, id: UInt16
    ) -> [UInt8]? {
        DNSMessage.question(name, type: type.number, class: `class`.number, recursionDesired: recursionDesired, id: id)
    }

    /// A type of records that can be asked for.
    package struct RecordType: Sendable, Hashable {
        let number: UInt16

        /// Every type.
        package static let any = RecordType(number: 255)

        private init(number: UInt16) { self.number = number }

        /// The type of a name such as `MX`; nil if there is none.
        package init?(_ name: String) {
            guard let number = DNSMessage.typeNumber(of: name) else { return nil }
            self.number = number
        }
    }

    /// A class of records.
    package struct RecordClass: Sendable, Hashable {
        let number: UInt16

        /// The Internet.
        package static let internet = RecordClass(number: 1)

        private init(number: UInt16) { self.number = number }

        /// The class of a name such as `CH`; nil if there is none.
        package init?(_ name: String) {
            let numbers: [String: UInt16] = ["IN": 1, "CS": 2, "CH": 3, "HS": 4, "NONE": 254, "ANY": 255]
            guard let number = numbers[name] else { return nil }
            self.number = number
        }
    }

    /// The names of response codes by their numbers (RFC 6895 2.3).
    package static let codeNames = [
        0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED", 6: "YXDOMAIN",
        7: "YXRRSET",
        8: "NXRRSET", 9: "NOTAUTH", 10: "NOTZONE", 16: "BADSIG", 17: "BADKEY", 18: "BADTIME", 19: "BADMODE",
        20: "BADNAME", 21: "BADALG", 22: "BADTRUNC", 23: "BADCOOKIE",
    ]

    /// The response code's name, or `RCODE` with its number.
    package var codeName: String { Self.codeNames[self.code] ?? "RCODE\(self.code)" }
}
