import NIOCore
import Testing
import TidegateCore

@testable import TidegateServer

@Suite struct ConnectionPlacesTests {
    private static func peer(_ text: String) -> PeerAddress { PeerAddress(ip: IPAddress(text)) }

    private let attacker = peer("10.0.0.66")
    private let scraper = peer("10.0.0.9")

    private func take(_ places: inout ConnectionPlaces, _ peer: PeerAddress) throws -> UInt64 {
        let admission = places.admit(peer)
        return try #require(admission).number
    }

    @Test("One peer has a quarter of the places, and its longest silent connection goes for the next")
    func perPeer() throws {
        var places = ConnectionPlaces(limit: 64)
        let numbers = try (0..<16).map { _ in try self.take(&places, self.attacker) }
        let admission1 = places.admit(self.attacker)
        #expect(admission1?.closing == numbers[0])
        let admission2 = places.admit(self.scraper)
        #expect(admission2?.closing == nil)
        #expect(places.count == 17)
    }

    @Test(
        "When all places are taken, the peer with most gives way: its longest waiting one, then one that does not read")
    func order() throws {
        var places = ConnectionPlaces(limit: 16)
        let others = try (1...8).map { try self.take(&places, Self.peer("10.0.0.\($0)")) }
        let numbers = try (0..<4).map { _ in try self.take(&places, self.attacker) }
        places.complete(numbers[0])
        places.stall(numbers[1])
        var closed: [UInt64] = []
        for last in 100..<103 {
            let admission = places.admit(Self.peer("10.0.0.\(last)"))
            closed += [admission?.closing].compactMap(\.self)
        }
        #expect(closed == [numbers[2], numbers[3], numbers[0]])
        for number in others { places.answer(number) }
        let last = places.admit(self.attacker)
        #expect(last != nil)
    }

    @Test("A limit that grows makes room for the next ones, of one peer, too")
    func growth() throws {
        var places = ConnectionPlaces(limit: 16)
        for _ in 0..<4 { _ = try self.take(&places, self.attacker) }
        places.limit = 32
        let admissions = (0..<4).map { _ in places.admit(self.attacker) }
        #expect(admissions.allSatisfy { $0 != nil && $0?.closing == nil })
        let fifth = places.admit(self.attacker)
        #expect(fifth?.closing != nil)
    }

    @Test("A connection that has just been opened stays while older ones of its peer send unread data")
    func stalled() throws {
        var places = ConnectionPlaces(limit: 16)
        let older = try (0..<3).map { _ in try self.take(&places, self.attacker) }
        for number in older {
            places.answer(number)
            places.stall(number)
        }
        let newest = try self.take(&places, self.attacker)
        let closed = (0..<3).map { _ in places.admit(self.attacker)?.closing }
        #expect(closed == older.map { Optional($0) })
        #expect(places.admit(self.attacker)?.closing == newest)
    }

    @Test("While all are being answered, a peer whose last request completed has a place")
    func reserved() throws {
        var places = ConnectionPlaces(limit: 32)
        let first = try self.take(&places, self.scraper)
        places.answer(first)
        places.complete(first)
        places.close(first)
        for last in 1...24 {
            let number = try self.take(&places, Self.peer("10.0.1.\(last)"))
            places.answer(number)
        }
        let admission4 = places.admit(self.attacker)
        #expect(admission4 == nil)
        for _ in 0..<8 {
            let number = try self.take(&places, self.scraper)
            places.answer(number)
        }
        let admission5 = places.admit(self.scraper)
        #expect(admission5 == nil)
    }

    @Test("A peer whose last request did not complete loses its reserved place")
    func unproven() throws {
        var places = ConnectionPlaces(limit: 4)
        let first = try self.take(&places, self.scraper)
        places.complete(first)
        places.answer(first)
        places.close(first)
        for last in 1...3 {
            let number = try self.take(&places, Self.peer("10.0.1.\(last)"))
            places.answer(number)
        }
        let admission6 = places.admit(self.scraper)
        #expect(admission6 == nil)
    }

    @Test("A closed place is free, however often it is closed")
    func close() throws {
        var places = ConnectionPlaces(limit: 4)
        let number = try self.take(&places, self.scraper)
        places.close(number)
        places.close(number)
        places.complete(number)
        #expect(places.count == 0)
        let admission7 = places.admit(self.scraper)
        #expect(admission7?.closing == nil)
    }

    @Test("A peer is an IPv4 address, however it is written, or an IPv6 prefix of 64 bits")
    func peers() throws {
        #expect(Self.peer("::ffff:10.0.0.9") == self.scraper)
        #expect(Self.peer("2001:db8::1") == Self.peer("2001:db8::2:1"))
        #expect(Self.peer("2001:db8:0:1::1") != Self.peer("2001:db8::1"))
        #expect(PeerAddress(try SocketAddress(ipAddress: "10.0.0.9", port: 1)) == self.scraper)
        #expect(PeerAddress(try SocketAddress(unixDomainSocketPath: "/x")) == PeerAddress(nil))
    }
}
