internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// Addresses that are checked, refused, deprecated or private.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct AddressLifeScenarioTests {
    @Test("An address that another host has does not count, and is called a duplicate")
    func duplicate() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.there.ip("addr add 2001:db8::99/64 dev p0 nodad")
        try hosts.here.batch("link set v0 up\nroute add default via 2001:db8::1 dev v0 onlink")
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.ip("addr add 2001:db8::99/64 dev v0")
        let status = await fixture.status { $0.verdict(.ipv6).reason == .dadFailed }
        #expect(status.verdict(.ipv6).level < .routed && status.verdict(.ipv6).reason == .dadFailed)
        #expect(fixture.changes(.family(.ipv6)).allSatisfy { $0.to.level < .routed }, "not for a moment")
    }

    @Test("A deprecated address announced again and again changes nothing")
    func deprecatedAgain() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch(
            """
            link set v0 up
            addr add 2001:db8::2/64 dev v0 nodad valid_lft 900 preferred_lft 0
            route add default via 2001:db8::1
            """)
        let fixture = MonitorFixture(hosts.here)
        let status = await fixture.status { $0.verdict(.ipv6).level == .routed }
        #expect(status.verdict(.ipv6).notes == [.deprecatedOnly])
        // The link's own address is being checked for a second or two, which is a change of its own.
        let settled = await fixture.status { $0.links.contains { $0.name == "v0" && $0.reason == nil } }
        #expect(settled.verdict(.ipv6).level == .routed)
        let (published, received) = (fixture.changesAndLinks, fixture.received(.newaddr))
        for _ in 0..<3 {
            try hosts.here.run(
                ["ip", "-6", "addr", "change", "2001:db8::2/64", "dev", "v0", "valid_lft", "900", "preferred_lft", "0"])
        }
        #expect(await eventually { fixture.received(.newaddr) >= received + 3 })
        _ = await fixture.monitor.evaluateNow()
        #expect(fixture.changesAndLinks == published)
    }

    @Test("A unique local source is routed with its note, and never counts as the internet")
    func uniqueLocal() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch(
            "link set v0 up\naddr add fd00:1::2/64 dev v0 nodad\nroute add default via fd00:1::1 dev v0")
        var configuration = ReachabilityConfiguration()
        configuration.targets = [try Target("fd00:1::9"), try Target("2001:db8:77::1")]
        let status = await MonitorFixture(hosts.here, configuration).status { $0.verdict(.ipv6).level == .routed }
        #expect(status.verdict(.ipv6).level == .routed, "routed, and not more")
        #expect(status.verdict(.ipv6).notes == [.uniqueLocalSource])
        #expect(status.verdict("fd00:1::9")?.notes == [], "to another unique local address it is an ordinary source")
        #expect(status.verdict("2001:db8:77::1")?.notes == [.uniqueLocalSource])
    }

    @Test("An address that lives for seconds is a path for seconds, and its default route goes without a message")
    func shortLife() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.ip("link set v0 up")
        let fixture = MonitorFixture(hosts.here)
        // Until the link has its carrier, the reason changes.
        #expect(await fixture.status { $0.verdict(.ipv4).reason == .noAddress }.verdict(.ipv4).level == .none)
        try hosts.here.batch(
            "addr add 10.0.0.2/24 dev v0 valid_lft 3 preferred_lft 1\nroute add default via 10.0.0.1")
        let levels = { fixture.changes(.family(.ipv4)).map(\.to.level).drop { $0 == .none } }
        #expect(await eventually { levels() == [.routed, .none] }, "\(levels())")
        #expect(fixture.monitor.status.verdict(.ipv4).reason == .noAddress)
    }

    @Test("Waiting for a route says what each family lacks")
    func waiting() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch("link set v0 up\naddr add 10.0.0.2/24 dev v0")
        try hosts.here.sysctl("net.ipv6.conf.v0.disable_ipv6=1")
        let fixture = MonitorFixture(hosts.here)
        let status = await fixture.status { $0.verdict(.ipv6).reason == .noAddress && $0.links.count == 2 }
        let condition = try WaitCondition("route")
        let text = "default route missing (v4), no address (v6)"
        #expect(condition.evaluate(status) == .unsatisfied(.route, .noRoute, sentence: text))
        try hosts.here.ip("route add default via 10.0.0.1")
        let routed = await fixture.status { $0.verdict(.ipv4).level == .routed }
        #expect(condition.evaluate(routed) == .satisfied)
    }
}
