internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// Rules that lead marks, users, families and ports their own ways.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct PolicyScenarioTests {
    private func verdict(
        _ namespace: NetworkNamespace, mark: UInt32? = nil, uid: UInt32? = nil
    ) async -> Verdict {
        var configuration = ReachabilityConfiguration()
        (configuration.mark, configuration.uid) = (mark, uid)
        return await MonitorFixture(namespace, configuration).first().verdict(.ipv4)
    }

    @Test("The tunnel's own packets, recognised by their mark, go below it")
    func mark() async throws {
        let hosts = try VethPairFixture()
        let tunnel = try NetworkNamespaceTun("wg0", in: hosts.here)
        try hosts.here.batch(
            """
            link set wg0 up
            addr add 10.9.0.2/32 dev wg0
            route add default dev wg0 table 51820
            rule add not fwmark 51820 table 51820
            rule add table main suppress_prefixlength 0
            """)
        #expect(await self.verdict(hosts.here).path?.interface == "wg0")
        let below = await self.verdict(hosts.here, mark: 51820)
        #expect(below.level == .routed && below.path?.interface == "v0" && below.path?.table == 254)
        try tunnel.setCarrier(false)
        #expect(await self.verdict(hosts.here).level < .routed)
        #expect(await self.verdict(hosts.here, mark: 51820).level == .routed)
    }

    @Test("A user whom a rule prohibits has no way out, and the next one has")
    func user() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.ip("rule add uidrange 1000-1000 prohibit")
        let refused = await self.verdict(hosts.here, uid: 1000)
        #expect(refused == Verdict(level: .local, reason: .prohibited))
        #expect(await self.verdict(hosts.here, uid: 1001).level == .routed)
        #expect(await self.verdict(hosts.here, uid: 0).level == .routed)
    }

    @Test(
        "A rule that refuses is named by what it does",
        arguments: zip(
            ["unreachable", "blackhole", "prohibit"], [UnreachableReason.noRoute, .blackholed, .prohibited]))
    func refusingRule(action: String, reason: UnreachableReason) async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.ip("rule add pref 100 \(action)")
        let refused = await fixture.status { $0.verdict(.ipv4).level < .routed }
        #expect(refused.verdict(.ipv4) == Verdict(level: .local, reason: reason))
        #expect(refused.verdict(.ipv6).level == .routed, "IPv6 has rules of its own")
        try hosts.here.ip("rule del pref 100 \(action)")
        #expect(await fixture.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4).level == .routed)
    }

    @Test("An IPv6 rule changes the path by itself")
    func ipv6Rule() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.run(["ip", "-6", "route", "del", "default"])
        try hosts.here.run(["ip", "-6", "route", "add", "default", "via", "2001:db8::1", "dev", "v0", "table", "100"])
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv6) == Verdict(level: .local, reason: .noRoute))
        try hosts.here.run(["ip", "-6", "rule", "add", "table", "100", "pref", "100"])
        let routed = await fixture.status { $0.verdict(.ipv6).level == .routed }.verdict(.ipv6)
        #expect(routed.path?.table == 100)
        try hosts.here.run(["ip", "-6", "rule", "del", "table", "100", "pref", "100"])
        #expect(await fixture.status { $0.verdict(.ipv6).level == .local }.verdict(.ipv6).reason == .noRoute)
    }

    @Test("A rule for one port leads targets with that port, and no others")
    func port() async throws {
        let hosts = try VethPairFixture()
        try hosts.addSecondLink()
        try hosts.here.batch(
            """
            route add default via 10.0.1.1 table 200
            rule add pref 100 ipproto tcp dport 8443 table 200
            """)
        var configuration = ReachabilityConfiguration()
        configuration.targets = try ["198.51.100.2:8443", "198.51.100.2:443", "198.51.100.2"].map { try Target($0) }
        let status = await MonitorFixture(hosts.here, configuration).first()
        #expect(status.targets.map(\.verdict.path?.interface) == ["v1", "v0", "v0"])
    }
}
