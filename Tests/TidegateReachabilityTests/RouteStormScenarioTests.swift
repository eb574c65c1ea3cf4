internal import Testing
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateReachability
internal import TidegateTestKit

/// More routes than a monitor can follow.
@Suite(
    .enabled(if: VethPairFixture.isPossible, VethPairFixture.need),
    .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)))
struct RouteStormScenarioTests {
    private func configuration() throws -> ReachabilityConfiguration {
        var configuration = ReachabilityConfiguration()
        configuration.targets = [try Target("203.0.113.1")]
        return configuration
    }

    /// Adds so many routes of a routing daemon's to the main table, and as many to table 100.
    private func flood(_ namespace: NetworkNamespace, routes: Int) async throws {
        let script = """
            awk 'BEGIN { for (i = 0; i < \(routes); i++) {
              p = sprintf("20.%d.%d.%d/28", int(i / 4096), int(i / 16) % 256, (i % 16) * 16)
              print "route replace " p " via 10.0.0.1 proto bird"
              print "route replace " p " via 10.0.0.1 proto bird table 100" } }' | ip -batch -
            """
        try await Task.detached { try namespace.run(["sh", "-c", script]) }.value
    }

    @Test("Two hundred thousand routes of a routing daemon change nothing, and the verdict stays exact")
    func manyRoutes() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here, try self.configuration())
        #expect(await fixture.first().verdict("203.0.113.1")?.level == .routed)
        let published = fixture.changesAndLinks
        try await self.flood(hosts.here, routes: 100_000)
        #expect(fixture.changesAndLinks == published)
        #expect(fixture.monitor.status.global.level == .routed)
        try hosts.here.ip("route add unreachable 203.0.113.0/24")
        let status = await fixture.status { $0.verdict("203.0.113.1")?.level == ReachabilityLevel.none }
        #expect(status.verdict("203.0.113.1") == Verdict(level: .none, reason: .routeUnreachable))
        #expect(fixture.changesAndLinks == published + 1, "one target, published once")
    }

    @Test("A buffer that is far too small makes a storm, which is recognised and left when it is over")
    func tinyBuffer() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here, try self.configuration(), receiveBufferBytes: 1024)
        _ = await fixture.first()
        let published = fixture.changesAndLinks
        // A burst that is lost at once is no storm yet; the next one within ten seconds makes it one.
        var storm = fixture.monitor.status
        for _ in 0..<10 where storm.mode != .storm {
            try await self.flood(hosts.here, routes: 10_000)
            storm = await fixture.status(within: .seconds(1)) { $0.mode == .storm }
        }
        storm = await fixture.status { $0.mode == .storm && $0.health.isConsistent }
        #expect(storm.mode == .storm && storm.global.level == .routed)
        #expect(storm.health.overruns >= 1)
        #expect(fixture.changesAndLinks == published)
        try hosts.here.ip("route add unreachable 203.0.113.0/24")
        let exact = await fixture.status { $0.verdict("203.0.113.1")?.reason == .routeUnreachable }
        #expect(exact.verdict("203.0.113.1")?.reason == .routeUnreachable)
        let calm = await fixture.status { $0.mode == .event && $0.health.isConsistent }
        #expect(calm.mode == .event && calm.health.isConsistent)
        try hosts.here.ip("route del unreachable 203.0.113.0/24")
        #expect(await fixture.status { $0.verdict("203.0.113.1")?.level == .routed }.global.level == .routed)
        #expect(await eventually { fixture.received(.delroute) > 0 }, "it receives route messages again")
    }
}
