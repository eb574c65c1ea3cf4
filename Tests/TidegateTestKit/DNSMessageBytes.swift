/// A name server's messages, byte by byte (RFC 1035 4.1).
package struct DNSMessageBytes: Sendable {
    /// A record about the name of the question.
    package struct Record: Sendable {
        let type: UInt16
        let recordClass: UInt16
        let data: [UInt8]

        /// A record with a time to live of 300 s.
        package init(_ type: UInt16, class recordClass: UInt16 = 1, _ data: [UInt8]) {
            self.type = type
            self.recordClass = recordClass
            self.data = data
        }
    }

    /// The response code.
    package var code: UInt8 = 0
    package var answers: [Record] = []
    package var authorities: [Record] = []
    package var additionals: [Record] = []

    /// An empty answer.
    package init(code: UInt8 = 0, answers: [Record] = [], authorities: [Record] = [], additionals: [Record] = []) {
        self.code = code
        self.answers = answers
        self.authorities = authorities
        self.additionals = additionals
    }

    /// A name as messages have it, without compression.
    package static func name(_ text: String) -> [UInt8] {
        text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }

    /// An address record.
    package static func a(_ last: UInt8) -> Record { Record(1, [192, 0, 2, last]) }

    /// The start of a zone with the serial number 1000.
    package static let soa = Record(
        6, Self.name("ns.tide.test") + Self.name("mail.tide.test") + [1000, 1, 2, 3, 4].flatMap { Self.bytes($0) })

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// The reply to a question.
    package func reply(to question: [UInt8]) -> [UInt8] {
        let end = self.endOfQuestion(question)
        let counts = [1, self.answers.count, self.authorities.count, self.additionals.count].map { UInt16($0) }
        let header = question.prefix(2) + [0x80 | (question[2] & 1), self.code] + counts.flatMap(Self.pair)
        let records = (self.answers + self.authorities + self.additionals).flatMap { record in
            [0xC0, 12] + Self.pair(record.type) + Self.pair(record.recordClass) + Self.bytes(300)
                + Self.pair(UInt16(record.data.count)) + record.data
        }
        return header + question[12..<end] + records
    }

    /// The reply with its length, for streams.
    package func stream(to question: [UInt8]) -> [UInt8] {
        let reply = self.reply(to: question)
        return Self.pair(UInt16(reply.count)) + reply
    }

    /// The type that a question asks for.
    package static func type(of question: [UInt8]) -> UInt16 {
        let end = DNSMessageBytes().endOfQuestion(question)
        return UInt16(question[end - 4]) << 8 | UInt16(question[end - 3])
    }

    private func endOfQuestion(_ question: [UInt8]) -> Int {
        var position = 12
        while position < question.count, question[position] != 0 { position += Int(question[position]) + 1 }
        return min(position + 5, question.count)
    }

    private static func pair(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)] }

    /// The first label of the name that a question is about.
    package static func firstLabel(of question: [UInt8]) -> String {
        guard question.count > 13 else { return "" }
        return String(decoding: question[13...].prefix(Int(question[12])), as: UTF8.self)
    }
}
