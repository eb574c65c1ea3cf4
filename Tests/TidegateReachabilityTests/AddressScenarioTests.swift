internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// What happens to addresses and the main rule, on the real kernel.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct AddressScenarioTests {
    @Test("An address that expires removes its default route without a message")
    func lifetime() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch(
            """
            link set v0 up
            addr add 10.0.0.2/24 dev v0 valid_lft 600 preferred_lft 600
            route add default via 10.0.0.1
            """)
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4).level == .routed)
        try hosts.here.ip("addr change 10.0.0.2/24 dev v0 valid_lft 1 preferred_lft 1")
        let status = await fixture.status { $0.verdict(.ipv4).level == .none }
        #expect(status.verdict(.ipv4) == Verdict(level: .none, reason: .noAddress))
    }

    @Test("An address announced again changes nothing")
    func renewed() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        let (published, received) = (fixture.changesAndLinks, fixture.received(.newaddr))
        try hosts.here.batch(
            "addr replace 10.0.0.2/24 dev v0 valid_lft 3600 preferred_lft 1800\n"
                + "addr replace 10.0.0.2/24 dev v0 valid_lft 3600 preferred_lft 1800")
        #expect(await eventually { fixture.received(.newaddr) >= received + 2 })
        _ = await fixture.monitor.evaluateNow()
        #expect(fixture.changesAndLinks == published)
        #expect(fixture.monitor.status.global.level == .routed)
    }

    @Test("On a point-to-point address the source is this end's")
    func pointToPoint() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch(
            "link set v0 up\naddr add 10.0.0.2 peer 10.0.0.1 dev v0\nroute add default via 10.0.0.1")
        let verdict = await MonitorFixture(hosts.here).status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4)
        #expect(verdict.path?.source == IPAddress("10.0.0.2"))
        #expect(verdict.path?.gateway == IPAddress("10.0.0.1"))
    }

    @Test("Without IPv6 the family is none, and IPv4 is not affected")
    func ipv6Off() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.sysctl("net.ipv6.conf.v0.disable_ipv6=1")
        let status = await fixture.status { $0.verdict(.ipv6).level == .none }
        #expect(status.verdict(.ipv6) == Verdict(level: .none, reason: .noAddress))
        #expect(status.verdict(.ipv4).level == .routed)
        #expect(fixture.changes(.family(.ipv4)).isEmpty && fixture.changes(.global).isEmpty)
    }

    @Test("Without the main rule there is no default, and with it again there is")
    func mainRule() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.run(["ip", "-4", "rule", "del", "priority", "32766"])
        let none = await fixture.status { $0.verdict(.ipv4).level < .routed }
        #expect(none.verdict(.ipv4).reason == .noRoute)
        try hosts.here.run(["ip", "-4", "rule", "add", "priority", "32766", "table", "main"])
        #expect(await fixture.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4).level == .routed)
    }

    @Test("Loopback is up and yet no usable link, and veth is an ethernet")
    func linkText() async throws {
        let hosts = try VethPairFixture()
        let status = await MonitorFixture(hosts.here).first()
        let loopback = try #require(status.links.first { $0.name == "lo" })
        #expect(!loopback.isUsable && loopback.reason == nil && loopback.kind == .loopback)
        #expect(status.links.first { $0.name == "v0" }?.kind == .ethernet)
        let text = status.json.description
        #expect(text.contains(#""name":"lo","index":1,"type":"loopback","admin":"up","carrier":true"#))
        #expect(text.contains(#""operstate":"unknown","usable":false,"reason":null"#))
        #expect(text.contains(#""name":"v0","index":77,"type":"ethernet""#))
    }
}
