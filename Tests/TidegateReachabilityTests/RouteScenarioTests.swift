internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// What happens to addresses, routes and rules, on the real kernel.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct RouteScenarioTests {
    private func targets(_ texts: String...) throws -> ReachabilityConfiguration {
        var configuration = ReachabilityConfiguration()
        configuration.targets = try texts.map { try Target($0) }
        return configuration
    }

    // MARK: Addresses

    @Test("A default route without an address leads nowhere, and the address is what is missing")
    func noAddress() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch("link set v0 up\nroute add default dev v0")
        let status = await MonitorFixture(hosts.here).status { $0.verdict(.ipv4).reason == .noAddress }
        #expect(status.verdict(.ipv4) == Verdict(level: .none, reason: .noAddress))
    }

    @Test("Packets bound to a link without a route by it are known to have none, and those to its hosts to have one")
    func boundPackets() async throws {
        let hosts = try VethPairFixture()
        try hosts.addSecondLink()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        for (address, link, isRouted) in [
            ("9.9.9.9", "v0", true), ("9.9.9.9", "v1", false), ("10.0.1.9", "v1", true), ("9.9.9.9", "v9", true),
        ] {
            let address = try #require(IPAddress(address))
            #expect(await fixture.monitor.hasRoute(to: address, over: link) == isRouted, "\(address) over \(link)")
        }
    }

    @Test("169.254/16 is link-local whatever scope it was given")
    func linkLocalOnly() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch("link set v0 up\naddr add 169.254.3.4/16 dev v0")
        let fixture = MonitorFixture(hosts.here)
        let expected = Verdict(level: .local, reason: .linkLocalOnly)
        #expect(await fixture.status { $0.verdict(.ipv4) == expected }.verdict(.ipv4) == expected)
        try hosts.here.ip("route add default dev v0")
        #expect(await eventually { fixture.received(.newroute) > 0 })
        #expect(fixture.monitor.status.verdict(.ipv4) == expected)
    }

    @Test("A tentative address becomes a path in one step")
    func tentative() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch("link set v0 up\nroute add default via 2001:db8::1 dev v0 onlink")
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.ip("addr add 2001:db8::77/64 dev v0")
        let status = await fixture.status { $0.verdict(.ipv6).level == .routed }
        #expect(status.verdict(.ipv6).path?.source == IPAddress("2001:db8::77"))
        #expect(fixture.changes(.family(.ipv6)).filter { $0.to.level >= .routed }.count == 1)
    }

    @Test("Losing the last IPv4 address removes the default, and IPv6 is not affected")
    func lastAddress() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.ip("addr del 10.0.0.2/24 dev v0")
        let status = await fixture.status { $0.verdict(.ipv4).level == .none }
        #expect(status.verdict(.ipv4).reason == .noAddress)
        #expect(status.verdict(.ipv6).level == .routed)
        #expect(status.global.level == .routed)
        #expect(!fixture.monitor.holdsAddress(try address("10.0.0.2")))
        #expect(fixture.monitor.holdsAddress(try address("2001:db8::2")))
    }

    @Test("A unique local source and a deprecated one are routed with a note")
    func notes() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.there.ip("addr add fd00:1::1/64 dev p0 nodad")
        try hosts.here.batch(
            "link set v0 up\naddr add fd00:1::2/64 dev v0 nodad\nroute add default via fd00:1::1")
        let fixture = MonitorFixture(hosts.here)
        #expect(
            await fixture.status { $0.verdict(.ipv6).level == .routed }.verdict(.ipv6).notes == [.uniqueLocalSource])
        try hosts.here.batch(
            "addr del fd00:1::2/64 dev v0\naddr add 2001:db8::2/64 dev v0 nodad valid_lft 100 preferred_lft 0")
        let status = await fixture.status { $0.verdict(.ipv6).notes == [.deprecatedOnly] }
        #expect(status.verdict(.ipv6).notes == [.deprecatedOnly])
    }

    // MARK: Routes

    @Test("Without a default only neighbours are routed")
    func onLinkOnly() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.ip("route del default")
        let status = await MonitorFixture(hosts.here, try self.targets("10.0.0.7", "8.8.8.8")).first()
        #expect(status.verdict(.ipv4) == Verdict(level: .local, reason: .noRoute))
        #expect(status.verdict("10.0.0.7")?.level == .routed)
        #expect(status.verdict("10.0.0.7")?.path?.gateway == nil)
        #expect(status.verdict("8.8.8.8") == Verdict(level: .none, reason: .noRoute))
    }

    @Test("A target with a route of its own needs no default")
    func ownRoute() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.batch("route del default\nroute add 198.51.100.0/24 via 10.0.0.1")
        let status = await MonitorFixture(hosts.here, try self.targets("198.51.100.2:443")).first()
        #expect(status.verdict(.ipv4).level == .local)
        #expect(status.verdict("198.51.100.2:443")?.path?.gateway == IPAddress("10.0.0.1"))
    }

    @Test("A default split in halves is a default; one half alone mixes the paths")
    func halves() async throws {
        let hosts = try VethPairFixture()
        try hosts.addSecondLink()
        try hosts.here.batch("route add 0.0.0.0/1 via 10.0.1.1\nroute add 128.0.0.0/1 via 10.0.1.1")
        let fixture = MonitorFixture(hosts.here)
        let whole = await fixture.first().verdict(.ipv4)
        #expect(whole.level == .routed && whole.path?.interface == "v1" && whole.notes.isEmpty)
        try hosts.here.ip("route del 128.0.0.0/1")
        let mixed = await fixture.status { $0.verdict(.ipv4).notes == [.mixedPaths] }
        #expect(mixed.verdict(.ipv4).level == .routed)
        #expect(mixed.verdict(.ipv4).notes == [.mixedPaths])
        try hosts.here.ip("route del default")
        #expect(await fixture.status { $0.verdict(.ipv4).notes == [.partial] }.verdict(.ipv4).notes == [.partial])
    }

    @Test("A dead preferred default hides a live one, and the note says so")
    func deadPreferredDefault() async throws {
        let hosts = try VethPairFixture()
        try hosts.addSecondLink()
        try hosts.here.batch(
            "route del default\nroute add default via 10.0.0.1 metric 100\nroute add default via 10.0.1.1 metric 200")
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4).path?.interface == "v0")
        try hosts.there.ip("link set p0 down")
        let hidden = await fixture.status { $0.verdict(.ipv4).level < .routed }.verdict(.ipv4)
        #expect(hidden == Verdict(level: .local, reason: .noCarrier, notes: [.deadPreferredDefault]))
        try hosts.here.sysctl("net.ipv4.conf.all.ignore_routes_with_linkdown=1")
        try hosts.here.sysctl("net.ipv4.conf.v0.ignore_routes_with_linkdown=1")
        let used = await fixture.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4)
        #expect(used.path?.interface == "v1")
    }

    @Test("An administratively down preferred default gives way silently")
    func silentFailover() async throws {
        let hosts = try VethPairFixture()
        try hosts.addSecondLink()
        try hosts.here.ip("route add default via 10.0.1.1 metric 200")
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.ip("link set v0 down")
        let status = await fixture.status { $0.verdict(.ipv4).path?.interface == "v1" }
        #expect(status.verdict(.ipv4).level == .routed)
        #expect(fixture.changes(.family(.ipv4)).map(\.to.level) == [.routed])
    }

    @Test("A multipath default survives one leg, and not two")
    func multipath() async throws {
        let hosts = try VethPairFixture()
        try hosts.addSecondLink()
        try hosts.here.batch(
            "route del default\nroute add default nexthop via 10.0.0.1 dev v0 nexthop via 10.0.1.1 dev v1")
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4).level == .routed)
        try hosts.there.ip("link set p0 down")
        let note = PathWarning.degradedMultipath(live: 1, total: 2)
        let one = await fixture.status { $0.verdict(.ipv4).notes.contains(note) }.verdict(.ipv4)
        #expect(one.level == .routed && one.notes.contains(note) && one.path?.interface == "v1")
        try hosts.there.ip("link set p1 down")
        let none = await fixture.status { $0.verdict(.ipv4).level == .none }.verdict(.ipv4)
        #expect(none.reason == .noCarrier)
    }

    @Test("A nexthop object carries a default, and removes it without a route message")
    func nexthopObject() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.batch(
            "route del default\nnexthop add id 10 via 10.0.0.1 dev v0\nroute add default nhid 10")
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4).path?.gateway == IPAddress("10.0.0.1"))
        try hosts.here.ip("nexthop replace id 10 via 10.0.0.9 dev v0")
        let moved = await fixture.status { $0.verdict(.ipv4).path?.gateway == IPAddress("10.0.0.9") }
        #expect(moved.verdict(.ipv4).path?.gateway == IPAddress("10.0.0.9"))
        try hosts.here.ip("nexthop del id 10")
        #expect(await fixture.status { $0.verdict(.ipv4).level == .local }.verdict(.ipv4).reason == .noRoute)
    }

    @Test("An IPv4 default by an IPv6 gateway is a default")
    func foreignGateway() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.ip("route del default")
        try hosts.here.run(["ip", "-4", "route", "add", "default", "via", "inet6", "2001:db8::1", "dev", "v0"])
        let verdict = await MonitorFixture(hosts.here).first().verdict(.ipv4)
        #expect(verdict.level == .routed && verdict.path?.gateway == IPAddress("2001:db8::1"))
    }

    @Test("Every kind of refusing route gives its own reason, in both families")
    func refusals() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.batch(
            """
            route add unreachable 203.0.113.0/28
            route add blackhole 203.0.113.16/28
            route add prohibit 203.0.113.32/28
            route add throw 203.0.113.48/28
            """)
        for (kind, group) in [("unreachable", 1), ("blackhole", 2), ("prohibit", 3), ("throw", 4)] {
            try hosts.here.run(["ip", "-6", "route", "add", kind, "2001:db8:f:\(group)::/64"])
        }
        let fixture = MonitorFixture(
            hosts.here,
            try self.targets(
                "203.0.113.1", "203.0.113.17", "203.0.113.33", "203.0.113.49", "2001:db8:f:1::1", "2001:db8:f:2::1",
                "2001:db8:f:3::1", "2001:db8:f:4::1", "10.0.0.255"))
        let status = await fixture.first()
        let expected: [UnreachableReason] = [.routeUnreachable, .blackholed, .prohibited, .noRoute]
        #expect(status.targets.map(\.verdict.reason) == expected + expected + [.notAHost])
        #expect(status.targets.allSatisfy { $0.verdict.level == .none })
        #expect(status.global.level == .routed)
    }

    @Test("A default that expires is lost at its time, although no message reports it")
    func expiry() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.run(["ip", "-6", "route", "del", "default"])
        let command = ["ip", "-6", "route", "add", "default", "via", "2001:db8::1", "dev", "v0", "expires", "2"]
        try hosts.here.run(command)
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv6).level == .routed)
        let status = await fixture.status { $0.verdict(.ipv6).level < .routed }
        #expect(status.verdict(.ipv6) == Verdict(level: .local, reason: .noRoute))
        #expect(fixture.received(.delroute) == 0)
    }

    // MARK: Rules

    @Test("A default in another table counts once a rule leads there")
    func rules() async throws {
        let hosts = try VethPairFixture()
        try hosts.here.batch("route del default\nroute add default via 10.0.0.1 table 100")
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4) == Verdict(level: .local, reason: .noRoute))
        try hosts.here.ip("rule add table 100 pref 100")
        let routed = await fixture.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4)
        #expect(routed.path?.table == 100)
        try hosts.here.ip("rule del table 100 pref 100")
        #expect(await fixture.status { $0.verdict(.ipv4).level == .local }.verdict(.ipv4).reason == .noRoute)
    }
}
