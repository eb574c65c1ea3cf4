internal import Testing
internal import TidegateCore
internal import TidegateNetwork

@testable internal import TidegateReachability

/// Watches, lookups and verdicts of targets.
struct TargetTableTests {
    private let routed = Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 77))
    private let none = Verdict(level: .none, reason: .noCarrier)
    private let address = IPAddress(ipv4: 0x0A00_0007)

    private func at(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    private func update(
        _ table: inout TargetTable, _ position: Int, _ verdict: Verdict?, at now: Int
    ) -> [VerdictDebouncer.Effect]? {
        let addresses = verdict.map { [AddressVerdict(address: self.address, verdict: $0)] } ?? []
        return table.update(position, addresses, times: { _ in .usual }, detection: { nil }, at: self.at(now))
    }

    @Test("Ten thousand watches leave nothing behind, in whatever order they end")
    func thousands() throws {
        var table = TargetTable(configured: [try Target("stays.test")])
        for number in 0..<10_000 {
            let target = try Target("h\(number % 5000).test:\(number < 5000 ? 80 : 443)")
            _ = table.watch(target, id: UInt64(number), known: nil) { _ in }
        }
        #expect(table.entries.count == 10_001)
        #expect(table.hostnames.take(.new).count == 5001)
        for number in stride(from: 0, to: 10_000, by: 2) { #expect(table.unwatch(UInt64(number)) != nil) }
        for number in stride(from: 9_999, to: 0, by: -2) { #expect(table.unwatch(UInt64(number)) != nil) }
        #expect(table.unwatch(0) == nil)
        #expect(table.entries.map(\.target.host) == ["stays.test"])
        #expect(table.hostnames["h1.test"] == nil && table.hostnames["stays.test"] != nil)
    }

    @Test("Targets with the same name share its addresses, also after others were removed")
    func sameName() throws {
        var table = TargetTable(configured: [])
        for (id, text) in ["x.test", "a.test:80", "y.test", "a.test:443"].enumerated() {
            _ = table.watch(try Target(text), id: UInt64(id), known: nil) { _ in }
        }
        _ = table.unwatch(0)
        let positions = table.positions(of: "a.test")
        #expect(positions.map { table.entries[$0].target.port }.sorted { $0 ?? 0 < $1 ?? 0 } == [80, 443])
        _ = table.hostnames.take(.new)
        let changed = table.record(.success([IPAddress(ipv4: 7), IPAddress(ipv4: 8)]), for: "a.test", at: self.at(0))
        #expect(changed.sorted() == positions.sorted())
        #expect(table.questions().map(\.port).filter { $0 != nil }.count == 4)
        let parts = table.entries.map(\.questions)
        #expect(parts.map(\.count).sorted() == [0, 2, 2])
        #expect(zip(parts, parts.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
    }

    @Test("Two watches on one target end one by one")
    func shared() throws {
        var table = TargetTable(configured: [])
        let target = try Target("10.0.0.7")
        let positions = [1, 2].map { table.watch(target, id: $0, known: nil) { _ in } }
        #expect(positions == [0, 0])
        #expect(table.unwatch(1) == nil)
        #expect(table.unwatch(2) == target)
        #expect(table.entries.isEmpty)
    }

    @Test("A gain takes effect once it is stable, and a repeated verdict has no effect at all")
    func debounce() throws {
        var table = TargetTable(configured: [try Target("10.0.0.7")])
        #expect(self.update(&table, 0, self.none, at: 0)?.count == 2)
        #expect(self.update(&table, 0, self.none, at: 10) == nil)
        #expect(self.update(&table, 0, self.routed, at: 20) == [])
        #expect(table.deadline == self.at(220))
        #expect(table.tick(at: self.at(219)).isEmpty)
        let changes = table.tick(at: self.at(220))
        #expect(changes.map(\.position) == [0] && changes[0].effects == [.gatingChanged])
        #expect(table.deadline == self.at(520))
        #expect(table.tick(at: self.at(520)).flatMap(\.effects).count == 1)
        #expect(table.deadline == nil)
    }

    @Test("Without an address the verdict on the resolvers counts; the first address is no gain over it")
    func unresolved() throws {
        var table = TargetTable(configured: [try Target("a.test")])
        table.resolverVerdict = self.none
        #expect(self.update(&table, 0, nil, at: 0)?.count == 2)
        #expect(table.entries[0].debouncer.gating.verdict == self.none)
        #expect(table.record(.success([self.address]), for: "a.test", at: self.at(10)) == [0])
        #expect(self.update(&table, 0, self.routed, at: 20)?.count == 2, "at once, because it answers another question")
    }

    @Test("Without a usable link only targets are shut that a link leads to")
    func shutAll() throws {
        var table = TargetTable(configured: [try Target("10.0.0.7"), try Target("127.0.0.1"), try Target("10.0.0.8")])
        _ = self.update(&table, 0, self.routed, at: 0)
        _ = self.update(&table, 1, Verdict(level: .routed, notes: [.thisHost]), at: 0)
        let changes = table.shutAll(.noCarrier, detection: nil, at: self.at(10))
        #expect(changes.map(\.position) == [0], "this host needs no link, and the third target was never open")
        #expect(table.entries[0].gating.verdict == self.none)
        #expect(table.entries[0].gating.addresses.map(\.verdict) == [self.none])
    }
}
