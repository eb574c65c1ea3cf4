internal import TidegateCore

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
