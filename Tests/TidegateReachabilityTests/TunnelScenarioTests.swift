internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// Tunnels, and the routes and rules that lead into them.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct TunnelScenarioTests {
    private static let halves = """
        link set tun0 up
        addr add 10.9.0.2/24 dev tun0
        route add 0.0.0.0/1 dev tun0
        route add 128.0.0.0/1 dev tun0
        """

    @Test("A tunnel without carrier hides the path below it, and its removal restores that")
    func carrier() async throws {
        let hosts = try VethPairFixture()
        var tunnel: NetworkNamespaceTun? = try NetworkNamespaceTun("tun0", in: hosts.here)
        try hosts.here.batch(TunnelScenarioTests.halves)
        let fixture = MonitorFixture(hosts.here)
        let up = await fixture.first().verdict(.ipv4)
        #expect(up.level == .routed && up.path?.interface == "tun0" && up.notes == [.tunnel])
        try tunnel?.setCarrier(false)
        let down = await fixture.status { $0.verdict(.ipv4).level < .routed }.verdict(.ipv4)
        #expect(down.reason == .noCarrier)
        try tunnel?.setCarrier(true)
        #expect(await fixture.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4).path?.interface == "tun0")
        tunnel = nil
        let below = await fixture.status { $0.verdict(.ipv4).path?.interface == "v0" }.verdict(.ipv4)
        #expect(below.level == .routed && below.notes.isEmpty)
    }

    @Test("Half a default through a tunnel beside a full one mixes the paths")
    func halfSplit() async throws {
        let hosts = try VethPairFixture()
        let tunnel = try NetworkNamespaceTun("tun0", in: hosts.here)
        try hosts.here.batch(TunnelScenarioTests.halves)
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4).path?.interface == "tun0")
        try hosts.here.ip("route del 0.0.0.0/1")
        let mixed = await fixture.status { $0.verdict(.ipv4).notes.contains(.mixedPaths) }.verdict(.ipv4)
        #expect(mixed.level == .routed && mixed.notes.contains(.mixedPaths) && !mixed.notes.contains(.partial))
        try tunnel.setCarrier(true)
    }

    @Test("A TAP device alone is a usable link, as in user-mode networks", arguments: NetworkNamespaceTun.Kind.allCases)
    func onlyLink(kind: NetworkNamespaceTun.Kind) async throws {
        let namespace = try NetworkNamespace("u")
        let device = try NetworkNamespaceTun("tap0", kind, in: namespace)
        try namespace.batch(
            "link set tap0 up\naddr add 10.0.2.100/24 dev tap0\nroute add default via 10.0.2.2 dev tap0")
        let fixture = MonitorFixture(namespace)
        let verdict = await fixture.status { $0.global.level == .routed }.global
        #expect(verdict.level == .routed && verdict.path?.interface == "tap0")
        try device.setCarrier(false)
        #expect(await fixture.status { $0.global.level == .none }.global.reason == .noCarrier)
    }

    @Test("A tunnel with marks and a table of its own routes everything but the neighbours")
    func wireGuardQuick() async throws {
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
        var configuration = ReachabilityConfiguration()
        configuration.targets = [try Target("10.0.0.7"), try Target("198.51.100.7")]
        let fixture = MonitorFixture(hosts.here, configuration)
        let status = await fixture.first()
        let verdict = status.verdict(.ipv4)
        #expect(verdict.level == .routed && verdict.path?.interface == "wg0" && verdict.path?.table == 51820)
        #expect(status.verdict("10.0.0.7")?.path?.interface == "v0", "the main table's prefixes come first")
        #expect(status.verdict("198.51.100.7")?.path?.interface == "wg0")
        try tunnel.setCarrier(false)
        #expect(await fixture.status { $0.verdict(.ipv4).level < .routed }.verdict(.ipv4).reason == .noCarrier)
    }
}
