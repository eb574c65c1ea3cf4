import Testing
import TidegateCore

@testable import TidegateNetwork

/// Packets that nobody would send in good faith.
@Suite struct HostilePacketTests {
    /// A generator that gives the same numbers in every run.
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            var word = (self.state ^ (self.state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }

    private func query() throws -> DNSQuery { try #require(DNSMessage.query("api.example", .a, id: 0xABCD)) }

    // Records of many types: ldns reads each by its own rules.
    private func goodAnswers(to query: DNSQuery) -> [[UInt8]] {
        let other: [[UInt8]] = [
            Packet.record([0xC0, 12], 6, 60, Packet.name("ns.example") + [0xC0, 12] + Array(repeating: 1, count: 20)),
            Packet.record([0xC0, 12], 15, 60, [0, 10] + Packet.name("mx.example")),
            Packet.record([0xC0, 12], 16, 60, [3, 97, 98, 99]),
            Packet.record([0], 41, 0, [0, 10, 0, 2, 1, 2]),
            Packet.record([0xC0, 12], 46, 60, [0, 1, 8, 2] + Array(repeating: 0, count: 14) + [0xC0, 12, 1, 2, 3]),
            Packet.record([0xC0, 12], 47, 60, [0xC0, 12, 0, 1, 0x40]),
            Packet.record([0xC0, 12], 65, 60, [0, 1, 0, 0, 1, 0, 3, 2, 104, 50]),
            Packet.record([0xC0, 12], 250, 60, Packet.name("hmac") + Array(repeating: 0, count: 16)),
        ]
        let plain = [Packet.alias("api.example", 20, "a.cdn.test"), Packet.a("a.cdn.test", 60, 10, 0, 0, 7)]
        return [Packet(to: query.bytes, plain).bytes, Packet(to: query.bytes, plain + other).bytes]
            + other.map { Packet(to: query.bytes, [$0]).bytes }
    }

    @Test("A hundred thousand mutilated packets are read without harm, and none gives an address it does not hold")
    func mutations() throws {
        let query = try self.query()
        let models = self.goodAnswers(to: query)
        var generator = Seeded(state: 20_260_101)
        var answers = 0
        for number in 0..<100_000 {
            var packet = models[number % models.count]
            for _ in 0..<Int.random(in: 1...6, using: &generator) { self.mutate(&packet, &generator) }
            guard case .whole(.answered(let addresses, let timeToLive)) = DNSMessageParser(packet, of: query) else {
                continue
            }
            answers += 1
            #expect(timeToLive >= .zero && !addresses.isEmpty)
            for address in addresses { #expect(self.contains(packet, address.octets)) }
        }
        #expect(answers > 1000, "mutilation must leave enough alive to mean anything")
    }

    private func mutate(_ packet: inout [UInt8], _ generator: inout Seeded) {
        guard !packet.isEmpty else { return }
        let place = Int.random(in: 0..<packet.count, using: &generator)
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: packet[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: packet[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 2: packet.removeLast(min(packet.count, Int.random(in: 1...8, using: &generator)))
        case 3: packet.insert(UInt8.random(in: 0...255, using: &generator), at: place)
        case 4: packet[place] = 0xC0 | UInt8.random(in: 0...3, using: &generator)
        default: packet.append(contentsOf: packet[place...].prefix(64))
        }
    }

    private func contains(_ packet: [UInt8], _ octets: [UInt8]) -> Bool {
        packet.indices.contains { packet[$0...].starts(with: octets) }
    }

    @Test("Compression that runs in a circle, forwards or beyond the end is no answer")
    func compression() throws {
        let query = try self.query()
        let start = UInt8(query.bytes.count)
        for pointer: [UInt8] in [[0xC0, start], [0xC0, start + 2], [0xFF, 0xFF], [0xC0], [0x40, 1], [0x80, 1]] {
            let record = Packet.record(pointer, 1, 60, [6, 6, 6, 6])
            let reading = DNSMessageParser(Packet(to: query.bytes, [record]).bytes, of: query)
            #expect(reading == .foreign || reading == .whole(.noData), "\(pointer)")
        }
    }

    @Test("The longest answer that is taken, made of nothing but pointers, is read in no time")
    func pointers() throws {
        let query = try self.query()
        // A chain of pointers, each to the one before, and as many records as fit that begin at its end.
        let base = UInt16(query.bytes.count + 11)
        let chain = (0..<4000).flatMap { number -> [UInt8] in
            Packet.words(0xC000 | (number == 0 ? 12 : base + UInt16(number - 1) * 2))
        }
        let text = Packet.record([0], 16, 1, chain)
        let record = Packet.record(Packet.words(0xC000 | (base + 3999 * 2)), 1, 60, [10, 0, 0, 7])
        let packet = Packet(to: query.bytes, [text] + Array(repeating: record, count: 500)).bytes
        #expect(packet.count <= 16_384)
        let start = ContinuousClock.now
        _ = DNSMessageParser(packet, of: query)
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test("An address that is too short is none")
    func lengths() throws {
        let query = try self.query()
        for count in 0...3 {
            let record = Packet.record([0xC0, 12], 1, 60, Array(repeating: 6, count: count))
            let reading = DNSMessageParser(Packet(to: query.bytes, [record]).bytes, of: query)
            if case .whole(.answered) = reading { Issue.record("\(count) octets were taken for an address") }
        }
    }

    @Test("A question is what RFC 1035 says it is")
    func question() throws {
        let query = try self.query()
        #expect(
            query.bytes == Packet.words(0xABCD, 0x0100, 1, 0, 0, 0) + Packet.name("api.example") + Packet.words(1, 1))
        let six = try #require(DNSMessage.query("API.example.", .aaaa, id: 1))
        #expect(six.bytes.suffix(4) == Packet.words(28, 1)[...] && six.name == query.name)
    }
}
