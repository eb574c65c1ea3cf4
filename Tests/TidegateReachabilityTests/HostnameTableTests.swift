internal import Testing
internal import TidegateCore

@testable internal import TidegateReachability

/// When names are resolved, and what their answers change.
struct HostnameTableTests {
    private let good: Result<[IPAddress], ResolveFailure> = .success([IPAddress(ipv4: 0x0A00_0007)])

    private func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 1_000_000_000) + .seconds(seconds) }

    private func table(_ hosts: String...) throws -> HostnameTable {
        var table = HostnameTable()
        for host in hosts { table.add(try Target(host), known: nil) }
        return table
    }

    @Test("A name is resolved once, and again after a minute")
    func interval() throws {
        var table = try self.table("a.test", "b.test")
        #expect(table.take(.new).sorted() == ["a.test", "b.test"])
        #expect(table.take(.new).isEmpty && table.take(.all).isEmpty, "both lookups are running")
        #expect(table.record(self.good, for: "a.test", at: self.at(0)) == true)
        #expect(table["a.test"]?.addresses == [IPAddress(ipv4: 0x0A00_0007)])
        #expect(table.deadline == self.at(60))
        #expect(table.record(self.good, for: "a.test", at: self.at(1)) == false, "the same addresses change nothing")
        #expect(table["a.test"]?.deadline == self.at(61))
        #expect(table.take(.due(self.at(60))).isEmpty)
        #expect(table.deadline == self.at(61))
        #expect(table.take(.due(self.at(61))) == ["a.test"])
        #expect(table.deadline == nil)
    }

    @Test("A name that fails is resolved again with back-off, and no other name with it")
    func failures() throws {
        var table = try self.table("a.test", "b.test")
        _ = table.take(.new)
        _ = table.record(self.good, for: "b.test", at: self.at(0))
        var now = 0
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(table.record(.failure(.timedOut), for: "a.test", at: self.at(now)) == false)
            #expect(table["a.test"]?.deadline == self.at(now + pause))
            now += pause
            #expect(table.take(.due(self.at(now))).contains("a.test"))
        }
        _ = table.record(self.good, for: "a.test", at: self.at(now))
        #expect(table["a.test"]?.deadline == self.at(now + 60))
    }

    @Test("The deadline is that of the name that is due first")
    func deadlines() throws {
        var table = try self.table("a.test", "b.test")
        _ = table.take(.new)
        _ = table.record(.failure(.nameNotFound), for: "a.test", at: self.at(0))
        _ = table.record(self.good, for: "b.test", at: self.at(0))
        #expect(table.deadline == self.at(1))
    }

    @Test("A failure keeps the last good addresses, and cached ones are used until there are new ones")
    func lastGood() throws {
        var table = HostnameTable()
        table.add(try Target("a.test:80"), known: [IPAddress(ipv4: 0x0A00_0001)])
        #expect(table["a.test"]?.addresses == [IPAddress(ipv4: 0x0A00_0001)])
        #expect(table.take(.new) == ["a.test"], "a name with cached addresses is resolved all the same")
        _ = table.record(.failure(.timedOut), for: "a.test", at: self.at(0))
        #expect(table["a.test"]?.addresses == [IPAddress(ipv4: 0x0A00_0001)])
        #expect(table["a.test"]?.failure == .timedOut)
    }

    @Test(
        "The time to live decides when a name is resolved again, within bounds",
        arguments: [(0, 5), (20, 20), (300, 300), (90_000, 3600)])
    func timeToLive(_ given: Int, _ used: Int) throws {
        var table = try self.table("a.test")
        table.recordTTL(.seconds(given), of: "a.test", at: self.at(0))
        #expect(table.deadline == nil, "there is no answer yet")
        _ = table.take(.new)
        _ = table.record(self.good, for: "a.test", at: self.at(0))
        table.recordTTL(.seconds(given), of: "a.test", at: self.at(0))
        #expect(table["a.test"]?.deadline == self.at(used))
        #expect(try #require(table.deadline) <= self.at(used), "never late")
        #expect(table.take(.due(self.at(used))) == ["a.test"])
        table.recordTTL(.seconds(given), of: "a.test", at: self.at(used))
        #expect(table.deadline == nil, "the lookup is running")
        _ = table.record(.failure(.timedOut), for: "a.test", at: self.at(used))
        table.recordTTL(.seconds(given), of: "a.test", at: self.at(used))
        #expect(table.deadline == self.at(used + 1), "after a failure the back-off decides")
    }

    @Test("Names that are due shortly after each other are found by one scan")
    func together() throws {
        var table = try self.table("a.test", "b.test")
        _ = table.take(.new)
        _ = table.record(.failure(.timedOut), for: "a.test", at: self.at(0))
        _ = table.record(.failure(.timedOut), for: "b.test", at: self.at(0) + .milliseconds(100))
        #expect(table.take(.due(self.at(1))) == ["a.test"])
        #expect(table.deadline == self.at(1) + .milliseconds(250))
        #expect(table.take(.due(self.at(1) + .milliseconds(250))) == ["b.test"])
    }

    @Test("A name whose lookup was running while the network changed is resolved once more")
    func outdated() throws {
        var table = try self.table("a.test")
        _ = table.take(.new)
        #expect(table.take(.all).isEmpty)
        _ = table.record(self.good, for: "a.test", at: self.at(0))
        #expect(table.take(.new) == ["a.test"])
        _ = table.record(self.good, for: "a.test", at: self.at(1))
        #expect(table.take(.new).isEmpty)
    }

    @Test("A name without targets is removed, also while its lookup is running")
    func removal() throws {
        var table = HostnameTable()
        table.add(try Target("a.test:80"), known: nil)
        table.add(try Target("a.test:443"), known: nil)
        table.remove(try Target("a.test:80"))
        #expect(table["a.test"]?.targets.count == 1)
        _ = table.take(.new)
        table.remove(try Target("a.test:443"))
        #expect(table["a.test"] == nil && table.take(.new).isEmpty)
        #expect(table.record(self.good, for: "a.test", at: self.at(0)) == false)
        #expect(table["a.test"] == nil && table.deadline == nil)
    }
}
