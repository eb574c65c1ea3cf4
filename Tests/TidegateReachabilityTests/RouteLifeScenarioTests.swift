internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// Routes that come and go without route messages: nexthop objects, advertisements, replacements.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct RouteLifeScenarioTests {
    @Test(
        "A nexthop that is replaced or deleted changes the path on its own, with and without route messages",
        arguments: [0, 1])
    func nexthopNews(compatibility: Int) async throws {
        let hosts = try VethPairFixture()
        try hosts.here.sysctl("net.ipv4.nexthop_compat_mode=\(compatibility)")
        // The kernel adds routes when its check of a link-local address ends.
        try hosts.here.sysctl("net.ipv6.conf.all.disable_ipv6=1")
        try hosts.here.batch(
            "route del default\nnexthop add id 10 via 10.0.0.1 dev v0\nroute add default nhid 10")
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4).path?.gateway == IPAddress("10.0.0.1"))
        let received = fixture.received(.newroute)
        try hosts.here.ip("nexthop replace id 10 via 10.0.0.9 dev v0")
        let moved = await fixture.status { $0.verdict(.ipv4).path?.gateway == IPAddress("10.0.0.9") }
        #expect(moved.verdict(.ipv4).path?.gateway == IPAddress("10.0.0.9"))
        #expect(fixture.changes(.family(.ipv4)).map(\.to.level) == [.routed], "another path, published once")
        if compatibility == 0 { #expect(fixture.received(.newroute) == received, "no route message reports it") }
        try hosts.here.ip("nexthop del id 10")
        #expect(await fixture.status { $0.verdict(.ipv4).level == .local }.verdict(.ipv4).reason == .noRoute)
        #expect(fixture.received(.delroute) == 0, "nor of its end")
    }

    @Test("An IPv6 default by a nexthop object is an ordinary default", arguments: [0, 1])
    func ipv6Nexthop(compatibility: Int) async throws {
        let hosts = try VethPairFixture()
        try hosts.here.sysctl("net.ipv4.nexthop_compat_mode=\(compatibility)")
        try hosts.here.run(["ip", "-6", "route", "del", "default"])
        try hosts.here.ip("nexthop add id 20 via 2001:db8::1 dev v0")
        try hosts.here.run(["ip", "-6", "route", "add", "default", "nhid", "20"])
        let fixture = MonitorFixture(hosts.here)
        let verdict = await fixture.first().verdict(.ipv6)
        #expect(verdict.level == .routed && verdict.notes.isEmpty)
        #expect(verdict.path?.gateway == IPAddress("2001:db8::1"))
        try hosts.here.ip("nexthop del id 20")
        #expect(await fixture.status { $0.verdict(.ipv6).level == .local }.verdict(.ipv6).reason == .noRoute)
    }

    @Test("A group of nexthop objects is a multipath default, and one leg carries on", arguments: [0, 1])
    func nexthopGroup(compatibility: Int) async throws {
        let hosts = try VethPairFixture()
        try hosts.addSecondLink()
        try hosts.here.sysctl("net.ipv4.nexthop_compat_mode=\(compatibility)")
        try hosts.here.batch(
            """
            route del default
            nexthop add id 10 via 10.0.0.1 dev v0
            nexthop add id 11 via 10.0.1.1 dev v1
            nexthop add id 12 group 10/11
            route add default nhid 12
            """)
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4).level == .routed)
        try hosts.there.ip("link set p0 down")
        let one = await fixture.status { $0.verdict(.ipv4).path?.interface == "v1" }.verdict(.ipv4)
        #expect(one.level == .routed && one.path?.gateway == IPAddress("10.0.1.1"))
        try hosts.there.ip("link set p1 down")
        #expect(await fixture.status { $0.verdict(.ipv4).level == .none }.verdict(.ipv4).reason == .noCarrier)
    }

    @Test("A lost carrier removes nexthop objects for good")
    func nexthopWithoutCarrier() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.batch(
            "route del default\nnexthop add id 10 via 10.0.0.1 dev v0\nroute add default nhid 10")
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4).level == .routed)
        try hosts.there.ip("link set p0 down")
        #expect(await fixture.status { $0.verdict(.ipv4).level == .none }.verdict(.ipv4).reason == .noCarrier)
        try hosts.there.ip("link set p0 up")
        let back = await fixture.status { $0.verdict(.ipv4).level == .local }
        #expect(back.verdict(.ipv4) == Verdict(level: .local, reason: .noRoute))
    }

    @Test("An unreachable default of the last resort is no default")
    func lastResort() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.run(["ip", "-6", "route", "del", "default"])
        try hosts.here.run(
            ["ip", "-6", "route", "add", "unreachable", "default", "dev", "lo", "metric", "4294967295"])
        let fixture = MonitorFixture(hosts.here)
        let status = await fixture.first()
        #expect(status.verdict(.ipv6) == Verdict(level: .local, reason: .routeUnreachable))
        #expect(status.verdict(.ipv4).level == .routed)
        try hosts.here.run(["ip", "-6", "route", "add", "default", "via", "2001:db8::1"])
        #expect(await fixture.status { $0.verdict(.ipv6).level == .routed }.verdict(.ipv6).level == .routed)
    }

    @Test("A replaced default has one gateway, the new one")
    func replacedDefault() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.run(["ip", "-6", "route", "replace", "default", "via", "2001:db8::ffff"])
        let verdict = await fixture.status { $0.verdict(.ipv6).path?.gateway == IPAddress("2001:db8::ffff") }
            .verdict(.ipv6)
        #expect(verdict.level == .routed && verdict.notes.isEmpty, "one leg, not two")
        #expect(verdict.path?.gateway == IPAddress("2001:db8::ffff"))
        #expect(fixture.changes(.family(.ipv6)).count == 1)
    }

    // MARK: Router advertisements

    private func advertisingWorld() throws -> (VethPairFixture, NetworkNamespaceRouter) {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.there.ip("addr add fe80::1/64 dev p0 nodad")
        try hosts.here.batch("link set v0 up\naddr add 2001:db8::2/64 dev v0 nodad")
        // A host solicits routers itself, and may get an answer twice; only the test may advertise here.
        try hosts.here.sysctl("net.ipv6.conf.v0.router_solicitations=0")
        return (hosts, try NetworkNamespaceRouter("fe80::1", on: "p0", in: hosts.there))
    }

    // Advertisements are lost while the link is still being joined: sent again until one was received.
    private func advertise(
        _ router: NetworkNamespaceRouter, _ seconds: UInt16, until fixture: MonitorFixture
    ) async throws -> ReachabilityStatus {
        for _ in 0..<20 {
            try router.advertise(lifetime: seconds)
            let status = await fixture.status(within: .milliseconds(800)) { $0.verdict(.ipv6).level == .routed }
            if status.verdict(.ipv6).level == .routed { return status }
        }
        return fixture.monitor.status
    }

    @Test("An advertised default that expires is lost at its time, before any message reports it")
    func advertisementExpires() async throws {
        let (hosts, router) = try self.advertisingWorld()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        let status = try await self.advertise(router, 3, until: fixture)
        #expect(status.verdict(.ipv6).path?.gateway == IPAddress("fe80::1"))
        let gone = await fixture.status { $0.verdict(.ipv6).level < .routed }
        #expect(gone.verdict(.ipv6) == Verdict(level: .local, reason: .noRoute))
        #expect(fixture.received(.delroute) == 0)
    }

    @Test("A default that its router withdraws is gone at once")
    func advertisementWithdrawn() async throws {
        let (hosts, router) = try self.advertisingWorld()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        let status = try await self.advertise(router, 600, until: fixture)
        #expect(status.verdict(.ipv6).level == .routed)
        try router.advertise(lifetime: 0)
        let gone = await fixture.status { $0.verdict(.ipv6).level < .routed }
        #expect(gone.verdict(.ipv6) == Verdict(level: .local, reason: .noRoute))
        #expect(await eventually { fixture.received(.delroute) > 0 })
    }
}
