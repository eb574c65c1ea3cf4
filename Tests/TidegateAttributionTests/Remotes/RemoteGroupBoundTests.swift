import Testing
import TidegateAttribution
import TidegateCore

/// Where the rules of a group begin and end.
struct RemoteGroupBoundTests {
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

    @Test("No remotes at all are fine")
    func empty() { #expect(Self.finding([]) == .fine) }

    @Test("An answer counts for less than one and a half seconds", arguments: [(1.4, true), (1.5, false)])
    func freshness(_ age: Double, _ counts: Bool) throws {
        let silent = try Self.member("192.0.2.1", answered: 2, stalled: 2)
        let other = try Self.member("203.0.113.1", answered: age)
        #expect(
            Self.finding([silent, other]) == (counts ? .some([silent.address: .answering]) : .alone(silent.address)))
    }

    @Test("One that hangs does not clear the way, however lately it answered")
    func hangingAnswer() throws {
        let one = try Self.member("192.0.2.1", answered: 1.2, stalled: 1.2)
        let two = try Self.member("203.0.113.1", answered: 1.3, stalled: 1.3)
        #expect(Self.finding([one, two]) == .silent(count: 2))
    }

    @Test("Those that began to hang ten seconds apart did not begin together", arguments: [(9.9, true), (10.0, false)])
    func simultaneity(_ apart: Double, _ isTogether: Bool) throws {
        let one = try Self.member("192.0.2.1", answered: 2 + apart, stalled: 2 + apart)
        let two = try Self.member("203.0.113.1", answered: 2 + apart, stalled: 2)
        #expect(
            Self.finding([one, two])
                == (isTogether ? .silent(count: 2) : .some([one.address: .undecided, two.address: .undecided])))
    }

    @Test(
        "An answer less than a second after the first began to hang may be of before",
        arguments: [(0.9, true), (1.1, false)])
    func tolerance(_ later: Double, _ isSilent: Bool) throws {
        let one = try Self.member("192.0.2.1", answered: 5, stalled: 5)
        let two = try Self.member("203.0.113.1", answered: 5 - later, stalled: 3)
        #expect(
            Self.finding([one, two])
                == (isSilent ? .silent(count: 2) : .some([one.address: .undecided, two.address: .undecided])))
    }

    @Test(
        "What covers several remotes is a /24 or a /48",
        arguments: [
            ("192.0.2.1", "192.0.2.254", true), ("192.0.2.1", "192.0.3.1", false),
            ("2001:db8:1::1", "2001:db8:1:ffff::1", true), ("2001:db8:1::1", "2001:db8:2::1", false),
        ])
    func networks(_ first: String, _ second: String, _ isOne: Bool) throws {
        let one = try Self.member(first, answered: 5, stalled: 5)
        let two = try Self.member(second, answered: 5, stalled: 5)
        let evidence: RemotesEvidence = isOne ? .silentNetwork : .answering
        let finding = Self.finding([one, two, try Self.member("203.0.113.1", answered: 0.1)])
        #expect(finding == .some([one.address: evidence, two.address: evidence]))
    }
}
