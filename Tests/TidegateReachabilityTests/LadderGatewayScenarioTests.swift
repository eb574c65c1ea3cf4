internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// Gateways that are there, and gateways that are not, on a real link.
@Suite(.enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct LadderGatewayScenarioTests {
    private static let dark =
        "table netdev dark { chain in { type filter hook ingress device p0 priority 0; policy drop; }; }"

    private func darken(_ hosts: VethPairFixture) throws { try hosts.there.run(["nft", Self.dark]) }

    @Test("A UDP probe finds a gateway alive")
    func alive() async throws {
        let ladder = LadderFixture(try VethPairFixture())
        let report = await ladder.diagnostics.gateway(.ipv4)
        #expect(report.status == .ok, "\(report)")
        #expect(await ladder.diagnostics.gateway(.ipv6).status == .ok)
    }

    @Test("A gateway that has gone dark is found out by a UDP probe, and is good again when it is back")
    func dark() async throws {
        let hosts = try VethPairFixture()
        try self.darken(hosts)
        let ladder = LadderFixture(hosts)
        var report = await ladder.diagnostics.gateway(.ipv4)
        // On a busy machine the limit may be over before the kernel gives up resolving; it soon does.
        for _ in 0..<5 where report.status == .unknown { report = await ladder.diagnostics.gateway(.ipv4) }
        #expect(report.status == .bad && report.reason == .gatewayUnresolved, "\(report)")
        let explanation = try await ladder.explain("198.51.100.2")
        #expect(explanation.firstFailure?.rung == .gateway && explanation.party == .gateway)
        #expect(explanation.advice.contains("10.0.0.1"))
        try hosts.there.run(["nft", "delete table netdev dark"])
        #expect(await self.becomesGood(ladder))
    }

    @Test("A gateway that was reachable and falls silent is silent for as long as the kernel only tries")
    func silenced() async throws {
        let hosts = try VethPairFixture()
        let ladder = LadderFixture(hosts)
        #expect(await ladder.diagnostics.gateway(.ipv4).status == .ok)
        // The kernel would detect it after half a minute of traffic; the test removes the entry instead.
        try self.darken(hosts)
        try hosts.here.ip("neigh del 10.0.0.1 dev v0")
        var report = await ladder.diagnostics.gateway(.ipv4)
        #expect(report.status == .bad && report.reason == .gatewaySilent, "\(report)")
        try hosts.there.run(["nft", "delete table netdev dark"])
        #expect(await self.becomesGood(ladder))
        report = await ladder.diagnostics.gateway(.ipv4)
        #expect(!report.text.contains("FAILED before"), "\(report)")
    }

    @Test("A gateway that drops the UDP probe but answers on the link is good")
    func probeDropped() async throws {
        let hosts = try VethPairFixture()
        try hosts.there.run([
            "nft", "table inet quiet { chain in { type filter hook input priority 0; udp dport 9 drop; }; }",
        ])
        let ladder = LadderFixture(hosts)
        let explanation = try await ladder.explain("198.51.100.2", within: .seconds(2))
        let report = try #require(explanation.report(.gateway))
        #expect(report.status == .ok && report.text.contains("was not answered"), "\(report)")
    }

    @Test(
        "A gateway that sends no ICMP errors answers a SYN or an echo request",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"),
        arguments: ["tcp dport 53", "icmp type echo-request"])
    func quiet(_ dropped: String) async throws {
        let hosts = try VethPairFixture()
        try hosts.there.run([
            "nft",
            """
            table inet quiet { chain in { type filter hook input priority 0; \(dropped) drop; };
            chain out { type filter hook output priority 0; icmp type { destination-unreachable, time-exceeded } drop; }; }
            """,
        ])
        let ladder = LadderFixture(hosts)
        let report = await ladder.diagnostics.gateway(.ipv4)
        #expect(report.status == .ok && report.values.duration != nil, "\(report)")
        #expect(report.text.contains("was not answered"), "\(report)")
    }

    @Test("A neighbour that is no gateway may fail without a word")
    func otherNeighbour() async throws {
        let hosts = try VethPairFixture()
        let ladder = LadderFixture(hosts)
        #expect(await ladder.diagnostics.gateway(.ipv4).status == .ok)
        let before = ladder.fixture.changesAndLinks
        try hosts.here.batch(
            """
            neigh add 10.0.0.99 lladdr 02:00:00:00:00:99 nud reachable dev v0
            neigh change 10.0.0.99 lladdr 02:00:00:00:00:99 nud failed dev v0
            """)
        #expect(await ladder.diagnostics.gateway(.ipv4).status == .ok)
        #expect(ladder.fixture.changesAndLinks == before)
    }

    @Test("A tunnel has no gateway to ask")
    func tunnel() async throws {
        let hosts = try VethPairFixture()
        let tun = try NetworkNamespaceTun("tun0", in: hosts.here)
        try hosts.here.batch(
            """
            link set tun0 up
            addr add 10.9.0.1/32 dev tun0
            route replace default dev tun0
            """)
        let ladder = LadderFixture(hosts)
        _ = await ladder.fixture.status { $0.verdict(.ipv4).path?.interface == "tun0" }
        let report = await ladder.diagnostics.gateway(.ipv4)
        #expect(report.status == .notApplicable, "\(report)")
        withExtendedLifetime(tun) {}
    }

    private func becomesGood(_ ladder: LadderFixture) async -> Bool {
        for _ in 0..<5 where await ladder.diagnostics.gateway(.ipv4).status == .ok { return true }
        return false
    }
}
