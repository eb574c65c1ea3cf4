import TidegateCore
import TidegateNetwork

/// Builds DNS packets, valid or not.
struct DNSPacket {
    var id: UInt16
    var flags: UInt16 = 0x8180
    var question: [UInt8]
    var answers: [[UInt8]] = []
    var counts: (UInt16, UInt16)?

    /// The header of an answer to a received question.
    init(to query: [UInt8]) {
        self.id = UInt16(query[0]) << 8 | UInt16(query[1])
        self.question = Array(query[12...])
    }

    /// An answer with these records.
    init(to query: [UInt8], flags: UInt16 = 0x8180, _ answers: [[UInt8]]) {
        self.init(to: query)
        self.flags = flags
        self.answers = answers
    }

    var bytes: [UInt8] {
        let (questions, answers) = self.counts ?? (self.question.isEmpty ? 0 : 1, UInt16(self.answers.count))
        return DNSPacket.octets(self.id, self.flags, questions, answers, 0, 0) + self.question
            + self.answers.flatMap { $0 }
    }

    /// The packet with its length, as over TCP.
    var framed: [UInt8] { DNSPacket.octets(UInt16(self.bytes.count)) + self.bytes }

    static func octets(_ values: UInt16...) -> [UInt8] {
        values.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }

    static func name(_ text: String) -> [UInt8] {
        text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }

    static func record(_ owner: [UInt8], _ type: UInt16, _ timeToLive: UInt32, _ data: [UInt8]) -> [UInt8] {
        let high = UInt16(timeToLive >> 16)
        let low = UInt16(truncatingIfNeeded: timeToLive)
        return owner + DNSPacket.octets(type, 1, high, low, UInt16(data.count)) + data
    }

    static func a(_ owner: String, _ timeToLive: UInt32, _ octets: UInt8...) -> [UInt8] {
        self.record(self.name(owner), 1, timeToLive, octets)
    }

    static func alias(_ owner: String, _ timeToLive: UInt32, _ target: String) -> [UInt8] {
        self.record(self.name(owner), 5, timeToLive, self.name(target))
    }
}

/// The address of the servers in these tests.
let loopback = IPAddress(ipv4: 0x7F00_0001)

extension DNSClient {
    /// Sends a question and waits for its outcome.
    func ask(
        _ name: String, _ type: DNSQuestion.RecordType = .a, at server: IPAddress = loopback, port: UInt16,
        within limit: Duration = .seconds(5)
    ) async -> DNSOutcome {
        await withCheckedContinuation { waiter in
            self.ask(DNSQuestion(name: name, type: type, server: server, port: port, limit: limit)) {
                waiter.resume(returning: $0)
            }
        }
    }
}
