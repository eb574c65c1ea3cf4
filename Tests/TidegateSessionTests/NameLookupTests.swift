import Testing
import TidegateCore

@testable import TidegateSession

@Suite struct NameLookupTests {
    private let addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].compactMap { IPAddress($0) }

    private func at(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    @Test("An address that did not answer comes last for half a minute, and at once again when it answers")
    func silentLast() {
        var lookup = NameLookup(literal: nil)
        let (first, second, third) = (self.addresses[0], self.addresses[1], self.addresses[2])
        #expect(lookup.silentLast(self.addresses, at: self.at(0)) == self.addresses)
        lookup.tried(silent: [first, second], answered: third, at: self.at(10))
        #expect(lookup.silentLast(self.addresses, at: self.at(39)) == [third, first, second])
        #expect(lookup.silentLast(self.addresses, at: self.at(40)) == self.addresses)
        lookup.tried(silent: [], answered: first, at: self.at(20))
        #expect(lookup.silentLast(self.addresses, at: self.at(20)) == [first, third, second])
    }

    @Test("The family of an address that does not answer the handshake comes last, and alone it keeps its order")
    func mute() throws {
        let (six, other) = (try #require(IPAddress("2001:db8::1")), try #require(IPAddress("2001:db8::2")))
        let mixed = [six, other, self.addresses[0]]
        var lookup = NameLookup(literal: nil)
        _ = lookup.resolved(.success(mixed), lookup: lookup.begin(), until: self.at(60))
        lookup.tried(silent: [], answered: nil, mute: six, at: self.at(1))
        #expect(lookup.silentLast(mixed, at: self.at(2)) == [self.addresses[0], six, other])
        var single = NameLookup(literal: nil)
        _ = single.resolved(.success(self.addresses), lookup: single.begin(), until: self.at(60))
        single.tried(silent: [], answered: nil, mute: self.addresses[0], at: self.at(1))
        #expect(single.silentLast(self.addresses, at: self.at(2)) == [1, 2, 0].map { self.addresses[$0] })
    }

    @Test("On another network every address is tried in its order again")
    func networkChange() {
        var lookup = NameLookup(literal: nil)
        lookup.tried(silent: [self.addresses[0]], answered: nil, at: self.at(10))
        _ = lookup.networkChanged()
        #expect(lookup.silentLast(self.addresses, at: self.at(11)) == self.addresses)
    }
}
