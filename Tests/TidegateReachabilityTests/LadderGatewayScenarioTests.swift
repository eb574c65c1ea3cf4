internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// Gateways that are there, and gateways that are not, on a real link.
@Suite(.enabled(if: World.isPossible, World.need), .timeLimit(.minutes(5)))
struct LadderGatewayScenarioTests {
    private static let dark =
        "table netdev dark { chain in { type filter hook ingress device p0 priority 0; policy drop; }; }"

    private func darken(_ world: World) throws { try world.there.run(["nft", Self.dark]) }

    @Test("A poke finds a gateway alive")
    func alive() async throws {
        let rig = LadderRig(try World())
        let report = await rig.climber.gateway(.ipv4)
        #expect(report.status == .ok, "\(report)")
        #expect(await rig.climber.gateway(.ipv6).status == .ok)
    }

    @Test("A gateway that has gone dark is found out by a poke, and is good again when it is back")
    func dark() async throws {
        let world = try World()
        try self.darken(world)
        let rig = LadderRig(world)
        let report = await rig.climber.gateway(.ipv4)
        #expect(report.status == .bad && report.reason == .gatewayUnresolved, "\(report)")
        let explanation = try await rig.explain("198.51.100.2")
        #expect(explanation.firstFailure?.rung == .gateway && explanation.party == .gateway)
        #expect(explanation.advice.contains("10.0.0.1"))
        try world.there.run(["nft", "delete table netdev dark"])
        #expect(await self.becomesGood(rig))
    }

    @Test("A gateway that was there and falls silent is told so, for as long as the kernel only tries")
    func silenced() async throws {
        let world = try World()
        let rig = LadderRig(world)
        #expect(await rig.climber.gateway(.ipv4).status == .ok)
        // What the kernel would find out in half a minute of traffic, it is told here.
        try self.darken(world)
        try world.here.ip("neigh del 10.0.0.1 dev v0")
        var report = await rig.climber.gateway(.ipv4)
        #expect(report.status == .bad && report.reason == .gatewaySilent, "\(report)")
        try world.there.run(["nft", "delete table netdev dark"])
        #expect(await self.becomesGood(rig))
        report = await rig.climber.gateway(.ipv4)
        #expect(!report.text.contains("FAILED before"), "\(report)")
    }

    @Test("A gateway that drops the poke but answers on the link is good")
    func pokeDropped() async throws {
        let world = try World()
        try world.there.run([
            "nft", "table inet quiet { chain in { type filter hook input priority 0; udp dport 9 drop; }; }",
        ])
        let rig = LadderRig(world)
        let explanation = try await rig.explain("198.51.100.2", within: .seconds(2))
        let report = try #require(explanation.report(.gateway))
        #expect(report.status == .ok && report.text.contains("was not answered"), "\(report)")
    }

    @Test("A neighbour that is no gateway may fail without a word")
    func otherNeighbour() async throws {
        let world = try World()
        let rig = LadderRig(world)
        #expect(await rig.climber.gateway(.ipv4).status == .ok)
        let before = rig.watcher.changesAndLinks
        try world.here.batch(
            """
            neigh add 10.0.0.99 lladdr 02:00:00:00:00:99 nud reachable dev v0
            neigh change 10.0.0.99 lladdr 02:00:00:00:00:99 nud failed dev v0
            """)
        #expect(await rig.climber.gateway(.ipv4).status == .ok)
        #expect(rig.watcher.changesAndLinks == before)
    }

    @Test("A tunnel has no gateway to ask")
    func tunnel() async throws {
        let world = try World()
        let tun = try NetworkNamespaceTun("tun0", in: world.here)
        try world.here.batch(
            """
            link set tun0 up
            addr add 10.9.0.1/32 dev tun0
            route replace default dev tun0
            """)
        let rig = LadderRig(world)
        _ = await rig.watcher.status { $0.verdict(.ipv4).path?.interface == "tun0" }
        let report = await rig.climber.gateway(.ipv4)
        #expect(report.status == .notApplicable, "\(report)")
        withExtendedLifetime(tun) {}
    }

    private func becomesGood(_ rig: LadderRig) async -> Bool {
        for _ in 0..<5 where await rig.climber.gateway(.ipv4).status == .ok { return true }
        return false
    }
}
