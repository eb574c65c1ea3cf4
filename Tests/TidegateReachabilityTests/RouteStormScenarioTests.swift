internal import Testing
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateReachability
internal import TidegateTestKit

/// More routes than anybody wants to hear of.
@Suite(.enabled(if: World.isPossible, World.need), .timeLimit(.minutes(5)))
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

    @Test("Two hundred thousand routes of a routing daemon are no news, and the verdict stays exact")
    func manyRoutes() async throws {
        let world = try World()
        let watcher = Watcher(world.here, try self.configuration())
        #expect(await watcher.first().verdict("203.0.113.1")?.level == .routed)
        let told = watcher.changesAndLinks
        try await self.flood(world.here, routes: 100_000)
        #expect(watcher.changesAndLinks == told)
        #expect(watcher.monitor.status().global.level == .routed)
        try world.here.ip("route add unreachable 203.0.113.0/24")
        let status = await watcher.status { $0.verdict("203.0.113.1")?.level == ReachabilityLevel.none }
        #expect(status.verdict("203.0.113.1") == Verdict(level: .none, reason: .routeUnreachable))
        #expect(watcher.changesAndLinks == told + 1, "one target, told once")
    }

    @Test("A buffer that is far too small makes a storm, which is judged rightly and left when it is over")
    func tinyBuffer() async throws {
        let world = try World()
        let watcher = Watcher(world.here, try self.configuration(), receiveBufferBytes: 1024)
        _ = await watcher.first()
        let told = watcher.changesAndLinks
        // A burst that is lost as one is no storm yet; the next one within ten seconds makes it one.
        var storm = watcher.monitor.status()
        for _ in 0..<10 where storm.mode != .storm {
            try await self.flood(world.here, routes: 10_000)
            storm = await watcher.status(within: .seconds(1)) { $0.mode == .storm }
        }
        storm = await watcher.status { $0.mode == .storm && $0.health.isConsistent }
        #expect(storm.mode == .storm && storm.global.level == .routed)
        #expect(storm.health.overruns >= 1)
        #expect(watcher.changesAndLinks == told)
        try world.here.ip("route add unreachable 203.0.113.0/24")
        let exact = await watcher.status { $0.verdict("203.0.113.1")?.reason == .routeUnreachable }
        #expect(exact.verdict("203.0.113.1")?.reason == .routeUnreachable)
        let calm = await watcher.status(within: .seconds(20)) { $0.mode == .event && $0.health.isConsistent }
        #expect(calm.mode == .event && calm.health.isConsistent)
        try world.here.ip("route del unreachable 203.0.113.0/24")
        #expect(await watcher.status { $0.verdict("203.0.113.1")?.level == .routed }.global.level == .routed)
        #expect(watcher.heard(.delroute) > 0, "it listens to routes again")
    }
}
