internal import Testing
internal import TidegateCore
internal import TidegateReachability
internal import TidegateTestKit

/// Links that flap, are renamed, replaced, or learn their context slowly.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct LinkLifeScenarioTests {
    @Test("Twenty flaps in a second are published as one loss, the reason why its end is waited for, and one gain")
    func twentyFlaps() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        let before = await fixture.first()
        // In a process of its own, so that no other test comes between the flaps.
        let flaps = "for i in $(seq 20); do ip link set p0 down; ip link set p0 up; sleep 0.03; done"
        try hosts.there.run(["sh", "-c", flaps])
        let ended = ContinuousClock.now
        let status = await fixture.status { $0.global.level == .routed }
        #expect(status.global.level == .routed && status.verdict(.ipv4).level == .routed)
        #expect(ContinuousClock.now - ended > .seconds(3), "who flapped has to prove itself")
        let losses = try #require(status.link(77)?.carrierLosses)
        #expect(losses - (before.link(77)?.carrierLosses ?? 0) >= 20, "the kernel counted every one")
        for scope in [PathEvent.Scope.global, .family(.ipv4), .family(.ipv6)] {
            let changes = fixture.changes(scope).map(\.to)
            #expect(changes.map(\.level) == [.none, .none, .routed], "\(scope)")
            #expect(changes.map { $0.reason == .flapping } == [false, true, false], "\(scope)")
        }
    }

    @Test("A link renamed while it is up is published once, and no path with it")
    func renamed() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.ip("link set v0 name wan0")
        _ = await fixture.status { $0.global.path?.interface == "wan0" && !fixture.links.isEmpty }
        #expect(fixture.links.map { [$0.from?.name, $0.to?.name] } == [["v0", "wan0"]])
        #expect(fixture.changes(.family(.ipv4)).isEmpty && fixture.changes(.family(.ipv6)).isEmpty)
    }

    @Test("A link replaced by one of the same name and index did not come back: another came")
    func replaced() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here)
        _ = await fixture.first()
        try hosts.here.batch(
            """
            link del v0
            link add v0 index 77 type veth peer name p0 netns \(hosts.there.name)
            link set v0 up
            addr add 10.0.0.2/24 dev v0
            route add default via 10.0.0.1
            """)
        try hosts.there.batch("link set p0 up\naddr add 10.0.0.1/24 dev p0")
        let status = await fixture.status {
            $0.verdict(.ipv4).level == .routed && $0.links.contains { $0.generation > 0 }
        }
        #expect(status.verdict(.ipv4).path?.generation == 1)
        let lives = fixture.links.map { [$0.from?.generation, $0.to?.generation] }
        #expect(lives.contains([0, nil]), "the first one went")
        #expect(lives.contains([nil, 1]), "another came")
        #expect(!lives.contains([0, 1]))
    }

    @Test("A bridge that listens and learns first is no way out until it forwards, and then stays one")
    func spanningTree() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch(
            """
            link add br0 type bridge stp_state 1 forward_delay 200
            link set v0 master br0
            link set v0 up
            link set br0 up
            addr add 10.0.0.2/24 dev br0
            """)
        try hosts.here.run(["ip", "-4", "route", "add", "default", "via", "10.0.0.1", "dev", "br0", "onlink"])
        let start = ContinuousClock.now
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4) == Verdict(level: .none, reason: .noCarrier))
        let status = await fixture.status { $0.verdict(.ipv4).level == .routed }
        #expect(status.verdict(.ipv4).path?.interface == "br0")
        #expect(ContinuousClock.now - start > .seconds(3), "twice the forward delay")
        #expect(fixture.changes(.family(.ipv4)).map(\.to.level) == [.routed])
    }

    @Test("A link over one that lost its carrier is down because of it")
    func lowerLayer() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch(
            """
            link add mac0 link v0 type macvlan mode bridge
            link set v0 up
            link set mac0 up
            addr add 10.0.0.2/24 dev mac0
            route add default via 10.0.0.1
            """)
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4).path?.interface == "mac0")
        try hosts.there.ip("link set p0 down")
        let down = await fixture.status { $0.links.contains { $0.name == "mac0" && $0.reason == .lowerLayerDown } }
        #expect(down.verdict(.ipv4).level == .none)
        #expect(down.verdict(.ipv4).reason == .lowerLayerDown)
        try hosts.there.ip("link set p0 up")
        #expect(await fixture.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4).level == .routed)
    }

    @Test(
        "A bond without ports is no way out; with a live port it is",
        .enabled(if: NetworkNamespace.supports("bond"), "this kernel has no bonding"))
    func bond() async throws {
        let hosts = try VethPairFixture(isConfigured: false)
        try hosts.here.batch(
            """
            link add bond0 type bond
            link set bond0 up
            addr add 10.0.0.2/24 dev bond0
            """)
        try hosts.here.run(["ip", "-4", "route", "add", "default", "via", "10.0.0.1", "dev", "bond0", "onlink"])
        let fixture = MonitorFixture(hosts.here)
        #expect(await fixture.first().verdict(.ipv4) == Verdict(level: .none, reason: .noCarrier))
        try hosts.here.ip("link set v0 master bond0")
        #expect(await fixture.status { $0.verdict(.ipv4).level == .routed }.verdict(.ipv4).path?.interface == "bond0")
        try hosts.there.ip("link set p0 down")
        #expect(await fixture.status { $0.verdict(.ipv4).level == .none }.verdict(.ipv4).reason == .noCarrier)
    }

    @Test("A start while 120 containers come, are named and addressed ends with the right tables")
    func crowdedStart() async throws {
        let hosts = try VethPairFixture()
        let here = hosts.here
        let churn = Task.detached {
            let lines = (0..<120).map { number in
                """
                link add veth\(number) type veth peer name vethp\(number)
                link set veth\(number) alias container-\(number)
                addr add 172.20.\(number).1/24 dev veth\(number)
                link set veth\(number) up
                addr change 172.20.\(number).1/24 dev veth\(number) valid_lft 900 preferred_lft 900
                """
            }
            try here.batch(lines.joined(separator: "\n"))
        }
        let fixture = MonitorFixture(hosts.here)
        let first = await fixture.first()
        #expect(first.global.level == .routed)
        try await churn.value
        let status = await fixture.status { $0.links.count == 242 && $0.health.isConsistent }
        #expect(status.links.count == 242)
        #expect(status.links.count { !$0.addresses.isEmpty && $0.name.hasPrefix("veth") } == 120)
        #expect(fixture.changesAndLinks == fixture.firstVerdicts, "nothing of it is published")
    }
}
