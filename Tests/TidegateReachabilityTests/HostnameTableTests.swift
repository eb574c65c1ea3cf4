internal import Testing
internal import TidegateCore

@testable internal import TidegateReachability

/// When names are asked for, and what becomes of the answers.
struct HostnameTableTests {
    private let good: Result<[IPAddress], ResolveFailure> = .success([IPAddress(ipv4: 0x0A00_0007)])

    private func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 1_000_000_000) + .seconds(seconds) }

    private func book(_ hosts: String...) throws -> HostnameTable {
        var book = HostnameTable()
        for host in hosts { book.add(try Target(host), known: nil) }
        return book
    }

    @Test("A name is asked for once, and again after a minute")
    func asking() throws {
        var book = try self.book("a.test", "b.test")
        #expect(book.take(.new).sorted() == ["a.test", "b.test"])
        #expect(book.take(.new).isEmpty && book.take(.all).isEmpty, "they are under way")
        #expect(book.answered("a.test", self.good, at: self.at(0)) == true)
        #expect(book["a.test"]?.addresses == [IPAddress(ipv4: 0x0A00_0007)])
        #expect(book.answered("a.test", self.good, at: self.at(1)) == false, "the same again changes nothing")
        #expect(book.nextDeadline == self.at(61))
        #expect(book.take(.due(self.at(60))).isEmpty)
        #expect(book.take(.due(self.at(61))) == ["a.test"])
    }

    @Test("A failure is asked again soon and ever more slowly, and no other name with it")
    func failures() throws {
        var book = try self.book("a.test", "b.test")
        _ = book.take(.new)
        _ = book.answered("b.test", self.good, at: self.at(0))
        var now = 0
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(book.answered("a.test", .failure(.timedOut), at: self.at(now)) == false)
            #expect(book["a.test"]?.deadline == self.at(now + pause))
            now += pause
            #expect(book.take(.due(self.at(now))).contains("a.test"))
        }
        _ = book.answered("a.test", self.good, at: self.at(now))
        #expect(book["a.test"]?.deadline == self.at(now + 60))
    }

    @Test("One name's later deadline leaves another's alone")
    func deadlines() throws {
        var book = try self.book("a.test", "b.test")
        _ = book.take(.new)
        _ = book.answered("a.test", .failure(.nameNotFound), at: self.at(0))
        _ = book.answered("b.test", self.good, at: self.at(0))
        #expect(book.nextDeadline == self.at(1))
    }

    @Test("A failure keeps the last good addresses, and a cached answer is used until there is a new one")
    func lastGood() throws {
        var book = HostnameTable()
        book.add(try Target("a.test:80"), known: [IPAddress(ipv4: 0x0A00_0001)])
        #expect(book["a.test"]?.addresses == [IPAddress(ipv4: 0x0A00_0001)])
        #expect(book.take(.new) == ["a.test"], "old news are asked about all the same")
        _ = book.answered("a.test", .failure(.timedOut), at: self.at(0))
        #expect(book["a.test"]?.addresses == [IPAddress(ipv4: 0x0A00_0001)])
        #expect(book["a.test"]?.failure == .timedOut)
    }

    @Test(
        "A name's own time decides when it is asked for again, within bounds",
        arguments: [(0, 5), (20, 20), (300, 300), (90_000, 3600)])
    func ownTime(_ told: Int, _ kept: Int) throws {
        var book = try self.book("a.test")
        book.lasts("a.test", for: .seconds(told), at: self.at(0))
        #expect(book.nextDeadline == nil, "there is no answer yet")
        _ = book.take(.new)
        _ = book.answered("a.test", self.good, at: self.at(0))
        book.lasts("a.test", for: .seconds(told), at: self.at(0))
        #expect(book.nextDeadline == self.at(kept))
        #expect(book.take(.due(self.at(kept))) == ["a.test"])
        book.lasts("a.test", for: .seconds(told), at: self.at(kept))
        #expect(book.nextDeadline == nil, "it is being asked for")
        _ = book.answered("a.test", .failure(.timedOut), at: self.at(kept))
        book.lasts("a.test", for: .seconds(told), at: self.at(kept))
        #expect(book.nextDeadline == self.at(kept + 1), "a failure is asked again by its own rule")
    }

    @Test("Names that are due one shortly after the other are looked for together")
    func together() throws {
        var book = try self.book("a.test", "b.test")
        #expect(book.look(for: self.at(1)) == self.at(1))
        _ = book.take(.due(self.at(60)))
        #expect(book.look(for: self.at(60) + .milliseconds(1)) == self.at(60) + .milliseconds(250))
        #expect(book.look(for: self.at(61)) == self.at(61))
    }

    @Test("An answer that was under way while the path changed is asked for once more")
    func dated() throws {
        var book = try self.book("a.test")
        _ = book.take(.new)
        #expect(book.take(.all).isEmpty)
        _ = book.answered("a.test", self.good, at: self.at(0))
        #expect(book.take(.new) == ["a.test"])
        _ = book.answered("a.test", self.good, at: self.at(1))
        #expect(book.take(.new).isEmpty)
    }

    @Test("A name that nobody needs is forgotten, also while it is asked for")
    func forgetting() throws {
        var book = HostnameTable()
        book.add(try Target("a.test:80"), known: nil)
        book.add(try Target("a.test:443"), known: nil)
        book.remove(try Target("a.test:80"))
        #expect(book["a.test"]?.targets.count == 1)
        _ = book.take(.new)
        book.remove(try Target("a.test:443"))
        #expect(book["a.test"] == nil && book.take(.new).isEmpty)
        #expect(book.answered("a.test", self.good, at: self.at(0)) == false)
        #expect(book["a.test"] == nil && book.nextDeadline == nil)
    }
}
