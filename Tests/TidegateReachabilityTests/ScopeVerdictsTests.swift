internal import Testing
internal import TidegateCore

@testable internal import TidegateReachability

/// Verdicts of families and of the host as a whole, and which of their changes mean another network.
struct ScopeVerdictsTests {
    private let none = Verdict(level: .none, reason: .noCarrier)

    private func at(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    private func routed(_ gateway: UInt32 = 0x0A00_0001, level: ReachabilityLevel = .routed) -> Verdict {
        let path = NetworkPath(
            interface: "eth0", index: 77, gateway: IPAddress(ipv4: gateway), source: IPAddress(ipv4: 0x0A00_0002))
        return Verdict(level: level, path: path)
    }

    private func update(
        _ scopes: inout ScopeVerdicts, _ ipv4: Verdict, _ ipv6: Verdict? = nil, at now: Int
    ) -> [PathEvent] {
        scopes.update(
            [.init(family: .ipv4, verdict: ipv4), .init(family: .ipv6, verdict: ipv6 ?? self.none)],
            times: { _ in .usual }, detection: nil, at: self.at(now))
    }

    @Test("The host is as reachable as its better family, and its change is published first")
    func global() {
        var scopes = ScopeVerdicts()
        #expect(scopes.publishedGlobal == .unknown)
        let changes = self.update(&scopes, self.routed(), at: 0)
        #expect(changes.map(\.scope) == [.global, .family(.ipv4), .family(.ipv6)])
        #expect(changes.allSatisfy { $0.lasted == nil && $0.from == .unknown }, "the first verdicts")
        #expect(scopes.publishedGlobal == self.routed())
        #expect(scopes.publishedFamilies.map(\.verdict.level) == [.routed, .none])
        #expect(scopes.gatingLevels == [.routed, .none] && scopes.deadline == nil)
    }

    @Test("A gain is gating before it is published")
    func gain() {
        var scopes = ScopeVerdicts()
        _ = self.update(&scopes, self.none, at: 0)
        #expect(self.update(&scopes, self.routed(), at: 100).isEmpty)
        #expect(scopes.deadline == self.at(300))
        #expect(scopes.tick(at: self.at(300)).isEmpty)
        #expect(scopes.gatingLevel(.ipv4) == .routed && scopes.publishedGlobal == self.none)
        let changes = scopes.tick(at: self.at(600))
        #expect(changes.map(\.scope) == [.global, .family(.ipv4)])
        #expect(changes.first?.lasted == .milliseconds(600))
        #expect(scopes.deadline == nil)
    }

    @Test("Another gateway is another network; another level over the same path is not, except after a portal")
    func networks() {
        var scopes = ScopeVerdicts()
        var now = 0
        func isNew(_ verdict: Verdict) -> Bool {
            now += 1000
            var changes = self.update(&scopes, verdict, at: now)
            now += 1000
            changes += scopes.tick(at: self.at(now))
            return scopes.isNewNetwork(changes)
        }
        #expect(!isNew(self.routed()), "no name was resolved before the first verdict")
        #expect(!isNew(self.routed(level: .portal)))
        #expect(isNew(self.routed(level: .online)), "the portal answered for every name")
        #expect(!isNew(self.routed()))
        #expect(isNew(self.routed(0x0A00_0009)))
        #expect(!isNew(self.none))
        #expect(isNew(self.routed(0x0A00_0009)), "the same addresses may be another network after a loss")
    }
}
