import Testing
import TidegateCore

@testable import TidegateReachability

/// The attempts that a diagnosis of the way out, or of their target, revises.
@Suite struct OpenAttemptsTests {
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)
    private static let provider: [AddressFamily: SilenceEvidence] = [
        .ipv4: SilenceEvidence(
            silent: .target, gateway: .answers(gateway), witnesses: [Witness(.hopWalk, .gateway)])
    ]

    private func at(_ seconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: (1_000 + seconds) * 1_000_000_000)
    }

    private func attempt(
        _ number: Int, _ party: FaultParty, at seconds: UInt64, _ silent: SilenceEvidence.Silent? = .target,
        _ family: AddressFamily? = .ipv4, to target: Target? = nil
    ) throws -> OpenAttempts.Attempt {
        OpenAttempts.Attempt(
            task: try #require(TaskID("00000000-0000-4000-8000-000000000001")), number: number, party: party,
            doubt: .init(silent: silent, target: target),
            remote: family == .ipv4 ? Self.gateway : IPAddress("2001:db8::1"), start: self.at(seconds),
            moment: self.at(seconds))
    }

    @Test("A diagnosis that began after an attempt revises it, once")
    func revised() throws {
        var attempts = OpenAttempts()
        attempts.add(try self.attempt(1, .unknown, at: 0))
        attempts.add(try self.attempt(2, .resolver, at: 1, .resolvers([])))
        let revisions = attempts.revisions(by: Self.provider, before: self.at(2), at: self.at(3))
        #expect(revisions.map(\.attempt) == [1, 2])
        #expect(revisions.map(\.from) == [.unknown, .resolver] && revisions.allSatisfy { $0.to == .upstream })
        #expect(attempts.revisions(by: Self.provider, before: self.at(9), at: self.at(9)).isEmpty)
    }

    @Test("A server that took the request stays the silent one if only it is silent, and not if nothing answers")
    func answeredBefore() throws {
        let others = [
            AddressFamily.ipv4: SilenceEvidence(
                silent: .target, gateway: .answers(Self.gateway), witnesses: [Witness(.resolver, .beyond(nil))])
        ]
        var attempts = OpenAttempts()
        attempts.add(try self.attempt(1, .theirs, at: 0))
        #expect(attempts.revisions(by: others, before: self.at(1), at: self.at(1)).isEmpty)
        attempts.add(try self.attempt(2, .theirs, at: 2))
        #expect(attempts.revisions(by: Self.provider, before: self.at(3), at: self.at(3)).map(\.to) == [.upstream])
    }

    @Test("An attempt that failed while the diagnosis was made waits for the next")
    func later() throws {
        var attempts = OpenAttempts()
        attempts.add(try self.attempt(1, .unknown, at: 5))
        #expect(attempts.revisions(by: Self.provider, before: self.at(4), at: self.at(6)).isEmpty)
        #expect(attempts.revisions(by: Self.provider, before: self.at(6), at: self.at(7)).count == 1)
    }

    @Test("Nothing is revised after 30 seconds, by another version of IP, or to the same party or none")
    func unrevised() throws {
        var attempts = OpenAttempts()
        attempts.add(try self.attempt(1, .unknown, at: 0))
        #expect(attempts.revisions(by: Self.provider, before: self.at(31), at: self.at(31)).isEmpty)
        attempts.add(try self.attempt(2, .unknown, at: 40, .target, .ipv6))
        attempts.add(try self.attempt(3, .upstream, at: 40))
        #expect(attempts.revisions(by: Self.provider, before: self.at(41), at: self.at(41)).isEmpty)
        attempts.add(try self.attempt(4, .path, at: 50))
        let nobody: [AddressFamily: SilenceEvidence] = [.ipv4: SilenceEvidence(silent: .target)]
        #expect(attempts.revisions(by: nobody, before: self.at(51), at: self.at(51)).isEmpty)
    }

    @Test("An attempt to a known target waits for a diagnosis of the target, unless this side of the way is broken")
    func ofTargets() throws {
        let (web, db) = (try Target("web.test:443"), try Target("db.test:5432"))
        let sound = [
            AddressFamily.ipv4: SilenceEvidence(
                silent: .target, gateway: .answers(Self.gateway), witnesses: [Witness(.resolver, .beyond(nil))])
        ]
        var attempts = OpenAttempts()
        attempts.add(try self.attempt(1, .path, at: 0, to: web))
        attempts.add(try self.attempt(2, .theirs, at: 1, nil, to: db))
        attempts.add(try self.attempt(3, .theirs, at: 2, nil, to: web))
        #expect(attempts.revisions(by: sound, before: self.at(3), at: self.at(3)).isEmpty)
        #expect(attempts.targets == [web, db])
        let refused = attempts.revisions(of: db, to: .mine)
        #expect(refused.map(\.attempt) == [2] && refused.map(\.to) == [.mine])
        #expect(attempts.revisions(of: web, to: .theirs).map(\.attempt) == [1], "the third was charged to it already")
        attempts.add(try self.attempt(4, .path, at: 3, to: web))
        #expect(attempts.revisions(by: Self.provider, before: self.at(4), at: self.at(4)).map(\.to) == [.upstream])
        attempts.add(try self.attempt(5, .path, at: 5, to: web))
        attempts.add(try self.attempt(6, .theirs, at: 5, to: web))
        #expect(attempts.revisions(of: web, to: nil).map(\.to) == [.unknown], "the way to it works")
        #expect(attempts.count == 0, "the target was reached, so that nothing more will be known")
    }

    @Test("What a diagnosis cannot tell, the next one may, within 30 seconds")
    func undecided() throws {
        let undecided = [
            AddressFamily.ipv4: SilenceEvidence(
                silent: .target, gateway: .confirmed(Self.gateway), witnesses: [Witness(.hopWalk, .nothing)])
        ]
        var attempts = OpenAttempts()
        attempts.add(try self.attempt(1, .path, at: 0))
        #expect(attempts.revisions(by: undecided, before: self.at(1), at: self.at(1)).isEmpty)
        #expect(attempts.revisions(by: Self.provider, before: self.at(30), at: self.at(30)).map(\.to) == [.upstream])
        #expect(attempts.revisions(by: Self.provider, before: self.at(30), at: self.at(30)).isEmpty)
    }

    @Test("An attempt without an address is revised by the version of IP that there is")
    func anyFamily() throws {
        var attempts = OpenAttempts()
        attempts.add(try self.attempt(1, .resolver, at: 0, .resolvers([]), nil))
        let found = [AddressFamily.ipv6: try #require(Self.provider[.ipv4])]
        #expect(attempts.revisions(by: found, before: self.at(1), at: self.at(1)).map(\.to) == [.upstream])
    }

    @Test("A burst is bounded")
    func bounded() throws {
        var attempts = OpenAttempts()
        for number in 0..<5_000 { attempts.add(try self.attempt(number, .unknown, at: 0)) }
        #expect(attempts.count <= OpenAttempts.capacity)
    }
}
