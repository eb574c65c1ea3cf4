internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// What happens to links, on the real kernel.
@Suite(.serialized, .enabled(if: World.isPossible, World.need), .timeLimit(.minutes(5)))
struct LinkScenarioTests {
    private func targets(_ texts: String...) throws -> ReachabilityConfiguration {
        var configuration = ReachabilityConfiguration()
        configuration.targets = try texts.map { try Target($0) }
        return configuration
    }

    @Test("An unconfigured link is no way out")
    func unconfigured() async throws {
        let namespace = try NetworkNamespace()
        let watcher = Watcher(namespace, try self.targets("127.0.0.1", "8.8.8.8"))
        let status = await watcher.first()
        #expect(status.global == Verdict(level: .none, reason: .noInterface))
        #expect(status.verdict("127.0.0.1")?.level == .routed)
        #expect(status.verdict("127.0.0.1")?.notes == [.thisHost])
        #expect(status.verdict("8.8.8.8") == Verdict(level: .none, reason: .noInterface))
    }

    @Test("A link with addresses and default routes is routed in both families")
    func routed() async throws {
        let world = try World()
        let status = await Watcher(world.here).first()
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

    @Test("An administratively down link is told without any route message")
    func adminDown() async throws {
        let world = try World()
        let watcher = Watcher(world.here, try self.targets("10.0.0.2"))
        _ = await watcher.first()
        try world.here.ip("link set v0 down")
        let status = await watcher.status { $0.global.level == .none }
        #expect(status.verdict(.ipv4) == Verdict(level: .none, reason: .adminDown))
        #expect(status.verdict(.ipv6) == Verdict(level: .none, reason: .adminDown))
        #expect(status.verdict("10.0.0.2")?.level == .routed)
    }

    @Test("A lost carrier closes the path although routes stay, and its return opens it after a hold")
    func carrier() async throws {
        let world = try World()
        let watcher = Watcher(world.here, try self.targets("8.8.8.8"))
        _ = await watcher.first()
        try world.there.ip("link set p0 down")
        let down = await watcher.status { $0.global.level == .none }
        #expect(down.verdict(.ipv4).reason == .noCarrier)
        #expect(down.verdict("8.8.8.8") == Verdict(level: .none, reason: .noCarrier))
        #expect(VerdictDescriptions.noPath(down) == "no path: v0 has no carrier")
        let restored = ContinuousClock.now
        try world.there.ip("link set p0 up")
        let up = await watcher.status { $0.global.level == .routed }
        #expect(up.verdict("8.8.8.8")?.level == .routed)
        #expect(ContinuousClock.now - restored >= .milliseconds(490), "a gain is told once it is stable")
        #expect(watcher.changes(.global).map(\.to.level) == [.none, .routed])
        #expect(watcher.changes(.global).first?.detection != nil)
    }

    @Test("With ignore_routes_with_linkdown the lost carrier is still what is named")
    func ignoredRoutes() async throws {
        let world = try World()
        let watcher = Watcher(world.here)
        _ = await watcher.first()
        try world.there.ip("link set p0 down")
        _ = await watcher.status { $0.global.level == .none }
        try world.here.sysctl("net.ipv4.conf.v0.ignore_routes_with_linkdown=1")
        let heard = await eventually { watcher.heard(.netconf) > 0 }
        #expect(heard)
        #expect(watcher.monitor.status().verdict(.ipv4) == Verdict(level: .none, reason: .noCarrier))
    }

    @Test("A renamed link keeps its generation and its path")
    func renamed() async throws {
        let world = try World()
        let watcher = Watcher(world.here)
        let before = await watcher.first()
        try world.here.ip("link set v0 name wan0")
        let after = await watcher.status { $0.global.path?.interface == "wan0" }
        #expect(after.links.first { $0.index == 77 }?.generation == before.links.first { $0.index == 77 }?.generation)
        #expect(watcher.changes(.global).isEmpty)
    }

    @Test("A link made again with the same index is another link")
    func generations() async throws {
        let world = try World()
        let watcher = Watcher(world.here)
        let before = await watcher.first()
        try world.here.ip("link del v0")
        let gone = await watcher.status { $0.global.reason == .noInterface }
        #expect(gone.verdict(.ipv4) == Verdict(level: .none, reason: .noInterface))
        try world.here.ip("link add v0 index 77 type veth peer name p0 netns \(world.there.name)")
        let again = await watcher.status { $0.links.contains { $0.index == 77 } }
        let generation = try #require(before.links.first { $0.index == 77 }?.generation)
        #expect(again.links.first { $0.index == 77 }?.generation == generation + 1)
    }

    @Test("A bridge without ports looks up and is not; with a live port it is")
    func bridge() async throws {
        let world = try World(isConfigured: false)
        try world.here.batch(
            """
            link add br0 type bridge
            link set br0 up
            addr add 10.0.0.2/24 dev br0
            route add default via 10.0.0.1
            """)
        let watcher = Watcher(world.here)
        #expect(await watcher.first().verdict(.ipv4) == Verdict(level: .none, reason: .noCarrier))
        try world.here.batch("link set v0 master br0\nlink set v0 up")
        let up = await watcher.status { $0.verdict(.ipv4).level == .routed }
        #expect(up.verdict(.ipv4).path?.interface == "br0")
        #expect(up.links.first { $0.name == "v0" }?.master == up.links.first { $0.name == "br0" }?.index)
        #expect(up.links.first { $0.name == "br0" }?.kind == .bridge)
        try world.there.ip("link set p0 down")
        let down = await watcher.status { $0.verdict(.ipv4).level == .none }
        #expect(down.verdict(.ipv4).reason == .noCarrier)
    }

    @Test("A dormant link is no way out")
    func dormant() async throws {
        let world = try World()
        let watcher = Watcher(world.here)
        _ = await watcher.first()
        try world.here.ip("link set v0 mode dormant state dormant")
        try world.there.ip("link set p0 down")
        _ = await watcher.status { $0.global.level == .none }
        try world.there.ip("link set p0 up")
        let dormant = await watcher.status { $0.verdict(.ipv4).reason == .dormant }
        #expect(dormant.verdict(.ipv4) == Verdict(level: .none, reason: .dormant))
        try world.here.ip("link set v0 state up")
        #expect(await watcher.status { $0.global.level == .routed }.global.level == .routed)
    }

    @Test("Containers that come and go change nothing")
    func churn() async throws {
        let world = try World()
        let watcher = Watcher(world.here, try self.targets("8.8.8.8"))
        _ = await watcher.first()
        let lines = (0..<50).map { number in
            """
            link add vethA\(number) type veth peer name vethB\(number)
            addr add 172.18.\(number).1/24 dev vethA\(number)
            link set vethA\(number) up
            link del vethA\(number)
            """
        }
        try world.here.batch(lines.joined(separator: "\n"))
        #expect(await eventually { watcher.heard(.dellink) >= 100 })
        let told = watcher.sink.events.filter { $0.payload.topic == .path || $0.payload.topic == .link }
        #expect(told.count == watcher.firstVerdicts, "only the first verdicts are told")
        #expect(watcher.monitor.status().global.level == .routed)
    }

    @Test("A flapping link has to prove itself for five seconds")
    func flapping() async throws {
        let world = try World()
        let watcher = Watcher(world.here)
        _ = await watcher.first()
        for _ in 0..<3 {
            try world.there.ip("link set p0 down")
            _ = await watcher.status { status in !status.links.contains { $0.index == 77 && $0.hasCarrier } }
            try world.there.ip("link set p0 up")
            _ = await watcher.status { status in status.links.contains { $0.index == 77 && $0.isUsable } }
        }
        let restored = ContinuousClock.now
        #expect(watcher.monitor.status().global.level == .none)
        let up = await watcher.status(within: .seconds(10)) { $0.global.level == .routed }
        #expect(up.global.level == .routed)
        #expect(ContinuousClock.now - restored > .seconds(4))
        #expect(watcher.changes(.global).count <= 6)
    }

    @Test("A tunnel is a way out while somebody holds its other end, also as the only link")
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
        let watcher = Watcher(namespace)
        #expect(await watcher.first().verdict(.ipv4) == Verdict(level: .none, reason: .noCarrier))
        var holder: NetworkNamespaceTun? = try NetworkNamespaceTun("tun0", in: namespace)
        let up = await watcher.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4)
        #expect(up.path?.interface == "tun0" && up.notes == [.tunnel])
        #expect(holder != nil)
        holder = nil
        #expect(await watcher.status { $0.verdict(.ipv4).level == .none }.verdict(.ipv4).reason == .noCarrier)
    }
}
