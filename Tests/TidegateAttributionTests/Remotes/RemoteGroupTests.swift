import Testing
import TidegateAttribution
import TidegateCore

/// What several remotes behind one next hop say together.
struct RemoteGroupTests {
    private static let now = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private static func member(
        _ address: String, answered: Double? = nil, stalled: Double? = nil
    ) throws -> RemoteGroup.Member {
        var member = RemoteGroup.Member(try #require(IPAddress(address)))
        member.answered = answered.map { self.now + .seconds(-$0) }
        member.stalledSince = stalled.map { self.now + .seconds(-$0) }
        return member
    }

    private static func finding(_ members: [RemoteGroup.Member]) -> RemoteGroup.Finding {
        RemoteGroup.finding(members, at: self.now)
    }

    @Test("Without a stall all is fine, however old the answers are")
    func fine() throws {
        #expect(Self.finding([try Self.member("192.0.2.1", answered: 900), try Self.member("192.0.2.2")]) == .fine)
    }

    @Test("One that hangs beside one that answers is its own failure")
    func theirs() throws {
        let silent = try Self.member("192.0.2.1", answered: 5, stalled: 5)
        let finding = Self.finding([silent, try Self.member("203.0.113.1", answered: 0.1)])
        #expect(finding == .some([silent.address: .answering]))
    }

    @Test("An answer from before the silence proves nothing")
    func older() throws {
        let silent = try Self.member("192.0.2.1", answered: 0.6, stalled: 0.6)
        let finding = Self.finding([silent, try Self.member("203.0.113.1", answered: 1.2)])
        #expect(finding == .some([silent.address: .undecided]))
    }

    @Test("Two of one network that hang beside one of another that answers are on the way")
    func path() throws {
        let one = try Self.member("192.0.2.1", answered: 5, stalled: 5)
        let two = try Self.member("192.0.2.9", answered: 5, stalled: 5)
        let finding = Self.finding([one, two, try Self.member("203.0.113.1", answered: 0.1)])
        #expect(finding == .some([one.address: .silentNetwork, two.address: .silentNetwork]))
    }

    @Test("Two remotes of a network in which another one answers are their own failure")
    func sameNetwork() throws {
        let one = try Self.member("2001:db8:1::1", answered: 5, stalled: 5)
        let two = try Self.member("2001:db8:1::2", answered: 5, stalled: 5)
        let finding = Self.finding([one, two, try Self.member("2001:db8:1::3", answered: 0.1)])
        #expect(finding == .some([one.address: .answering, two.address: .answering]))
    }

    @Test("What remotes send to which nothing gets through is no answer")
    func oneWay() throws {
        let one = try Self.member("192.0.2.1", answered: 0.2, stalled: 5)
        let two = try Self.member("203.0.113.1", answered: 0.3, stalled: 4.8)
        #expect(Self.finding([one, two]) == .silent(count: 2))
    }

    @Test("Several that hang while none answers are the way there, also beside one that has hung for long")
    func silent() throws {
        let one = try Self.member("192.0.2.1", answered: 3, stalled: 3)
        let two = try Self.member("203.0.113.1", answered: 2.5, stalled: 2.5)
        #expect(Self.finding([one, two]) == .silent(count: 2))
        let old = try Self.member("198.51.100.1", answered: 600, stalled: 600)
        #expect(Self.finding([one, two, old]) == .silent(count: 3))
    }

    @Test("New connections that hang to several networks beside old ones that go on are not opened on the way")
    func opensNone() throws {
        func opening(_ address: String, answered: Double? = 60, stalled: Double = 15) throws -> RemoteGroup.Member {
            var member = try Self.member(address, answered: answered, stalled: stalled)
            (member.isOpening, member.opened) = (true, answered.map { Self.now + .seconds(-$0) })
            return member
        }
        let (one, two) = (try opening("192.0.2.1"), try opening("203.0.113.1"))
        let old = try Self.member("198.51.100.1", answered: 0.1)
        #expect(Self.finding([one, two, old]) == .some([one.address: .opensNone, two.address: .opensNone]))
        let early = [try opening("192.0.2.1", stalled: 2), try opening("203.0.113.1", stalled: 2), old]
        #expect(
            Self.finding(early) == .some([one.address: .undecided, two.address: .undecided]),
            "an opened connection may not have been seen yet")
        var closed = try Self.member("198.51.100.9", answered: 4)
        closed.opened = Self.now + .seconds(-4)
        var new = old
        new.opened = Self.now + .seconds(-3)
        let own = RemoteGroup.Finding.some([one.address: .answering, two.address: .answering])
        #expect(Self.finding([one, two, new]) == own, "a connection was opened meanwhile")
        #expect(Self.finding([one, two, old, closed]) == own, "one was opened and closed")
        #expect(Self.finding([one, try opening("203.0.113.1", stalled: 40), old]) == own, "not at the same time")
        #expect(Self.finding([one, try opening("203.0.113.1", answered: nil), old]) == own, "one may be dead")
        var established = two
        established.isOpening = false
        #expect(Self.finding([one, established, old]) == own, "an old connection hangs as well")
        let near = try opening("192.0.2.9")
        #expect(Self.finding([one, near, old]) == .some([one.address: .silentNetwork, near.address: .silentNetwork]))
    }

    @Test("One that answered after the others went silent acquits the way there")
    func answeredSince() throws {
        let one = try Self.member("192.0.2.1", answered: 8, stalled: 8)
        let two = try Self.member("203.0.113.1", answered: 7, stalled: 7)
        let third = try Self.member("198.51.100.1", answered: 3)
        #expect(Self.finding([one, two, third]) == .some([one.address: .undecided, two.address: .undecided]))
    }

    @Test("One alone says nothing of whose failure it is")
    func alone() throws {
        let only = try Self.member("192.0.2.1", answered: 3, stalled: 3)
        #expect(Self.finding([only]) == .alone(only.address))
        #expect(Self.finding([only, try Self.member("192.0.2.2", answered: 60)]) == .alone(only.address))
    }
}
