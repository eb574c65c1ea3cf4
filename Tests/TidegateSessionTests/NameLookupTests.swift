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

    @Test("On another network every address is tried in its order again")
    func networkChange() {
        var lookup = NameLookup(literal: nil)
        lookup.tried(silent: [self.addresses[0]], answered: nil, at: self.at(10))
        _ = lookup.networkChanged()
        #expect(lookup.silentLast(self.addresses, at: self.at(11)) == self.addresses)
    }
}
