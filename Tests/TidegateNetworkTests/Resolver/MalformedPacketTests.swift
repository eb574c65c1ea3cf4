import Testing
import TidegateTestKit
import TidegateCore

@testable import TidegateNetwork

/// Malformed and malicious packets.
@Suite struct MalformedPacketTests {
    private func query() throws -> DNSQuery { try #require(DNSQuery("api.example", .a, id: 0xABCD)) }

    // Records of many types: ldns parses each by its own rules.
    private func goodAnswers(to query: DNSQuery) -> [[UInt8]] {
        let other: [[UInt8]] = [
            DNSPacket.record(
                [0xC0, 12], 6, 60, DNSPacket.name("ns.example") + [0xC0, 12] + Array(repeating: 1, count: 20)),
            DNSPacket.record([0xC0, 12], 15, 60, [0, 10] + DNSPacket.name("mx.example")),
            DNSPacket.record([0xC0, 12], 16, 60, [3, 97, 98, 99]),
            DNSPacket.record([0], 41, 0, [0, 10, 0, 2, 1, 2]),
            DNSPacket.record(
                [0xC0, 12], 46, 60, [0, 1, 8, 2] + Array(repeating: 0, count: 14) + [0xC0, 12, 1, 2, 3]),
            DNSPacket.record([0xC0, 12], 47, 60, [0xC0, 12, 0, 1, 0x40]),
            DNSPacket.record([0xC0, 12], 65, 60, [0, 1, 0, 0, 1, 0, 3, 2, 104, 50]),
            DNSPacket.record([0xC0, 12], 250, 60, DNSPacket.name("hmac") + Array(repeating: 0, count: 16)),
        ]
        let plain = [DNSPacket.alias("api.example", 20, "a.cdn.test"), DNSPacket.a("a.cdn.test", 60, 10, 0, 0, 7)]
        return [DNSPacket(to: query.bytes, plain).bytes, DNSPacket(to: query.bytes, plain + other).bytes]
            + other.map { DNSPacket(to: query.bytes, [$0]).bytes }
    }

    @Test("A hundred thousand mutated packets parse without a crash, and none yields an address it does not contain")
    func mutations() throws {
        let query = try self.query()
        let models = self.goodAnswers(to: query)
        var generator = SeededGenerator(seed: 20_260_101)
        var answers = 0
        for number in 0..<100_000 {
            var packet = models[number % models.count]
            for _ in 0..<Int.random(in: 1...6, using: &generator) { self.mutate(&packet, &generator) }
            guard case .whole(.answered(let addresses, let timeToLive)) = DNSMessageParser.parse(packet, of: query)
            else {
                continue
            }
            answers += 1
            #expect(timeToLive >= .zero && !addresses.isEmpty)
            for address in addresses { #expect(self.contains(packet, address.octets)) }
        }
        #expect(answers > 1000, "enough packets have to stay valid for the test to mean anything")
    }

    private func mutate(_ packet: inout [UInt8], _ generator: inout SeededGenerator) {
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

    @Test("Compression pointers in a cycle, forwards or beyond the end are no answer")
    func compression() throws {
        let query = try self.query()
        let start = UInt8(query.bytes.count)
        for pointer: [UInt8] in [[0xC0, start], [0xC0, start + 2], [0xFF, 0xFF], [0xC0], [0x40, 1], [0x80, 1]] {
            let record = DNSPacket.record(pointer, 1, 60, [6, 6, 6, 6])
            let result = DNSMessageParser.parse(DNSPacket(to: query.bytes, [record]).bytes, of: query)
            // Two octets on, the record's type reads as the root: an address of another name.
            #expect(result == (pointer == [0xC0, start + 2] ? .whole(.noData) : .foreign), "\(pointer)")
        }
    }

    @Test("The longest accepted answer, made only of compression pointers, is parsed")
    func pointers() throws {
        let query = try self.query()
        // A chain of pointers, each to the one before, and as many records as fit that begin at its end.
        let base = UInt16(query.bytes.count + 11)
        let chain = (0..<4000).flatMap { number -> [UInt8] in
            DNSPacket.octets(0xC000 | (number == 0 ? 12 : base + UInt16(number - 1) * 2))
        }
        let text = DNSPacket.record([0], 16, 1, chain)
        let record = DNSPacket.record(DNSPacket.octets(0xC000 | (base + 3999 * 2)), 1, 60, [10, 0, 0, 7])
        let packet = DNSPacket(to: query.bytes, [text] + Array(repeating: record, count: 500)).bytes
        #expect(packet.count <= 16_384)
        #expect(DNSMessageParser.parse(packet, of: query) == .foreign, "ldns follows no chain of pointers as long")
    }

    @Test("An address record that is too short has no address")
    func lengths() throws {
        let query = try self.query()
        for count in 0...3 {
            let record = DNSPacket.record([0xC0, 12], 1, 60, Array(repeating: 6, count: count))
            let result = DNSMessageParser.parse(DNSPacket(to: query.bytes, [record]).bytes, of: query)
            #expect(result == (count == 0 ? .whole(.failed(code: "MALFORMED")) : .foreign), "\(count) octets")
        }
    }

    @Test("A question is encoded as RFC 1035 specifies")
    func question() throws {
        let query = try self.query()
        #expect(
            query.bytes == DNSPacket.octets(0xABCD, 0x0100, 1, 0, 0, 0) + DNSPacket.name("api.example")
                + DNSPacket.octets(1, 1))
        let six = try #require(DNSQuery("API.example.", .aaaa, id: 1))
        #expect(six.bytes.suffix(4) == DNSPacket.octets(28, 1)[...] && six.name == query.name)
    }
}
