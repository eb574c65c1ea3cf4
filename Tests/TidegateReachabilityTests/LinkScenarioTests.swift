internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// What happens to links, on the real kernel.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct LinkScenarioTests {
    private func targets(_ texts: String...) throws -> ReachabilityConfiguration {
        var configuration = ReachabilityConfiguration()
        configuration.targets = try texts.map { try Target($0) }
        return configuration
    }

    @Test("An unconfigured link is no way out")
    func unconfigured() async throws {
        let namespace = try NetworkNamespace()
        let fixture = MonitorFixture(namespace, try self.targets("127.0.0.1", "8.8.8.8"))
        let status = await fixture.first()
        #expect(status.global == Verdict(level: .none, reason: .noInterface))
        #expect(status.verdict("127.0.0.1")?.level == .routed)
        #expect(status.verdict("127.0.0.1")?.notes == [.thisHost])
        #expect(status.verdict("8.8.8.8") == Verdict(level: .none, reason: .noInterface))
    }

    @Test("A link with addresses and default routes is routed in both families")
    func routed() async throws {
        let hosts = try VethPairFixture()
        let status = await MonitorFixture(hosts.here).first()
        let (ipv4, ipv6) = (status.verdict(.ipv4), status.verdict(.ipv6))
        #expect(ipv4.level == .routed && ipv4.reason == nil)
        #expect(ipv4.path?.interface == "v0")
        #expect(ipv4.path?.gateway == IPAddress("10.0.0.1"))
        #expect(ipv4.path?.source == IPAddress("10.0.0.2"))
        #expect(ipv4.path?.table == 254)
        #expect(ipv6.level == .routed)
        #expect(ipv6.path?.gateway == IPAddress("2001:db8::1"))
        #expect(ipv6.path?.source == IPAddress("2001:db8::2"))
        #expect(status.global.level == .routed)
        #expect(status.health.isConsistent && status.mode == .event)
    }

    @Test("An administratively down link is detected without any route message")
    func adminDown() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here, try self.targets("10.0.0.2"))
        _ = await fixture.first()
        try hosts.here.ip("link set v0 down")
        let status = await fixture.status { $0.global.level == .none }
        #expect(status.verdict(.ipv4) == Verdict(level: .none, reason: .adminDown))
        #expect(status.verdict(.ipv6) == Verdict(level: .none, reason: .adminDown))
        #expect(status.verdict("10.0.0.2")?.level == .routed)
    }

    @Test("A lost carrier closes the path although routes stay, and its return opens it after a hold")
    func carrier() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here, try self.targets("8.8.8.8"))
        _ = await fixture.first()
        try hosts.there.ip("link set p0 down")
        let down = await fixture.status { $0.global.level == .none }
        #expect(down.verdict(.ipv4).reason == .noCarrier)
        #expect(down.verdict("8.8.8.8") == Verdict(level: .none, reason: .noCarrier))
        #expect(VerdictDescriptions.faults(in: down, of: AddressFamily.allCases) == "v0 has no carrier")
        let restored = ContinuousClock.now
        try hosts.there.ip("link set p0 up")
        let up = await fixture.status { $0.global.level == .routed }
        #expect(up.verdict("8.8.8.8")?.level == .routed)
        #expect(ContinuousClock.now - restored >= .milliseconds(490), "a gain is published once it is stable")
        #expect(fixture.changes(.global).map(\.to.level) == [.none, .routed])
        #expect(fixture.changes(.global).first?.detection != nil)
    }

    @Test("With ignore_routes_with_linkdown the lost carrier is still what is named")
    func ignoredRoutes() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.there.ip("link set p0 down")
        _ = await fixture.status { $0.global.level == .none }
        try hosts.here.sysctl("net.ipv4.conf.v0.ignore_routes_with_linkdown=1")
        let received = await eventually { fixture.received(.netconf) > 0 }
        #expect(received)
        #expect(fixture.monitor.status.verdict(.ipv4) == Verdict(level: .none, reason: .noCarrier))
    }

    @Test("A renamed link keeps its generation and its path")
    func renamed() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        let before = await fixture.first()
        try hosts.here.ip("link set v0 name wan0")
        let after = await fixture.status { $0.global.path?.interface == "wan0" }
        #expect(after.links.first { $0.index == 77 }?.generation == before.links.first { $0.index == 77 }?.generation)
        #expect(fixture.changes(.global).isEmpty)
    }

    @Test("A link made again with the same index is another link")
    func generations() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        let before = await fixture.first()
        try hosts.here.ip("link del v0")
        let gone = await fixture.status { $0.global.reason == .noInterface }
        #expect(gone.verdict(.ipv4) == Verdict(level: .none, reason: .noInterface))
        try hosts.here.ip("link add v0 index 77 type veth peer name p0 netns \(hosts.there.name)")
        let again = await fixture.status { $0.links.contains { $0.index == 77 } }
        let generation = try #require(before.links.first { $0.index == 77 }?.generation)
        #expect(again.links.first { $0.index == 77 }?.generation == generation + 1)
    }

    @Test("A bridge without ports looks up and is not; with a live port it is")
    func bridge() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch(
            """
            link add br0 type bridge
            link set br0 up
            addr add 10.0.0.2/24 dev br0
            route add default via 10.0.0.1
            """)
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4) == Verdict(level: .none, reason: .noCarrier))
        try hosts.here.batch("link set v0 master br0\nlink set v0 up")
        let up = await fixture.status { $0.verdict(.ipv4).level == .routed }
        #expect(up.verdict(.ipv4).path?.interface == "br0")
        #expect(up.links.first { $0.name == "v0" }?.master == up.links.first { $0.name == "br0" }?.index)
        #expect(up.links.first { $0.name == "br0" }?.kind == .bridge)
        try hosts.there.ip("link set p0 down")
        let down = await fixture.status { $0.verdict(.ipv4).level == .none }
        #expect(down.verdict(.ipv4).reason == .noCarrier)
    }

    @Test("A dormant link is no way out")
    func dormant() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.ip("link set v0 mode dormant state dormant")
        try hosts.there.ip("link set p0 down")
        _ = await fixture.status { $0.global.level == .none }
        try hosts.there.ip("link set p0 up")
        let dormant = await fixture.status { $0.verdict(.ipv4).reason == .dormant }
        #expect(dormant.verdict(.ipv4) == Verdict(level: .none, reason: .dormant))
        try hosts.here.ip("link set v0 state up")
        #expect(await fixture.status { $0.global.level == .routed }.global.level == .routed)
    }

    @Test("Containers that come and go change nothing")
    func churn() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here, try self.targets("8.8.8.8"))
        _ = await fixture.first()
        let lines = (0..<50).map { number in
            """
            link add vethA\(number) type veth peer name vethB\(number)
            addr add 172.18.\(number).1/24 dev vethA\(number)
            link set vethA\(number) up
            link del vethA\(number)
            """
        }
        try hosts.here.batch(lines.joined(separator: "\n"))
        #expect(await eventually { fixture.received(.dellink) >= 100 })
        let published = fixture.sink.events.filter { $0.payload.topic == .path || $0.payload.topic == .link }
        #expect(published.count == fixture.firstVerdicts, "only the first verdicts are published")
        #expect(fixture.monitor.status.global.level == .routed)
    }

    @Test("A flapping link has to prove itself for five seconds")
    func flapping() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        for _ in 0..<3 {
            try hosts.there.ip("link set p0 down")
            _ = await fixture.status { status in !status.links.contains { $0.index == 77 && $0.hasCarrier } }
            try hosts.there.ip("link set p0 up")
            _ = await fixture.status { status in status.links.contains { $0.index == 77 && $0.isUsable } }
        }
        let restored = ContinuousClock.now
        #expect(fixture.monitor.status.global.level == .none)
        let up = await fixture.status { $0.global.level == .routed }
        #expect(up.global.level == .routed)
        #expect(ContinuousClock.now - restored > .seconds(4))
        #expect(fixture.changes(.global).count <= 6)
    }

    @Test("A tunnel is a usable link while its other end is open, also as the only link")
    func tunnel() async throws {
        let namespace = try NetworkNamespace()
        try namespace.batch(
            """
            tuntap add tun0 mode tun
            link set tun0 up
            addr add 10.9.0.2/24 dev tun0
            route add 0.0.0.0/1 dev tun0
            route add 128.0.0.0/1 dev tun0
            """)
        let fixture = MonitorFixture(namespace)
        #expect(await fixture.first().verdict(.ipv4) == Verdict(level: .none, reason: .noCarrier))
        var holder: NetworkNamespaceTun? = try NetworkNamespaceTun("tun0", in: namespace)
        let up = await fixture.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4)
        #expect(up.path?.interface == "tun0" && up.notes == [.tunnel])
        #expect(holder != nil)
        holder = nil
        #expect(await fixture.status { $0.verdict(.ipv4).level == .none }.verdict(.ipv4).reason == .noCarrier)
    }
}
