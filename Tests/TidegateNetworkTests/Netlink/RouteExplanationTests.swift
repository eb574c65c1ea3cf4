internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// What a real kernel tells about its choice.
@Suite(
    .serialized, .enabled(if: KernelProbe.isPossible, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct RouteExplanationTests {
    private func story(
        _ probe: KernelProbe, _ destination: String = "8.8.8.8", _ change: (inout RouteQuestion) -> Void = { _ in }
    ) async throws -> RouteExplanation {
        var question = RouteQuestion(try #require(IPAddress(destination)))
        change(&question)
        return try #require(await probe.explanation(of: question))
    }

    @Test("The matched route, the rule and every competing default are told, the best first")
    func defaults() async throws {
        let world = try KernelWorld()
        try world.here.batch(
            """
            route add default via 10.0.1.1 metric 200 proto dhcp
            route add default via 10.0.1.1 table 100
            route add 0.0.0.0/1 via 10.0.1.1 table 100
            route add 198.51.100.0/24 via 10.0.1.1
            rule add table 100 pref 40000
            """)
        let probe = try KernelProbe(world.here)
        let story = try await self.story(probe)
        #expect(story.rule?.description == "32766: from all lookup main")
        #expect(story.rules.map(\.priority) == [0, 32766, 32767, 40000])
        #expect(
            story.defaults.map { story.text($0) } == [
                "default via 10.0.0.1 dev v0 table main metric 100",
                "default via 10.0.1.1 dev v1 table main proto dhcp metric 200",
                "0.0.0.0/1 via 10.0.1.1 dev v1 table 100",
                "default via 10.0.1.1 dev v1 table 100",
            ])
        #expect(story.chosen?.gateway == IPAddress("10.0.0.1") && story.matched?.metric == 100)
        let six = try await self.story(probe, "2001:4860:4860::8888")
        #expect(six.defaults.map { six.text($0) } == ["default via 2001:db8::1 dev v0 table main metric 1024"])
        #expect(six.rule?.description == "32766: from all lookup main")
        #expect(six.reversePathFilter == nil)
    }

    @Test("wg-quick's rules: the mark decides between the tunnel's table and main, a target on the link is main's")
    func wireGuardRules() async throws {
        let world = try KernelWorld()
        try world.here.batch(
            """
            route add default dev v1 table 51820
            rule add not fwmark 51820 table 51820
            rule add table main suppress_prefixlength 0
            """)
        let probe = try KernelProbe(world.here)
        let unmarked = try await self.story(probe)
        #expect(unmarked.rule?.description == "32765: not from all fwmark 0xca6c lookup 51820")
        #expect(unmarked.chosen?.link == 78 && unmarked.matched?.table == 51820)
        let marked = try await self.story(probe) { $0.mark = 51820 }
        #expect(marked.rule?.description == "32766: from all lookup main" && marked.chosen?.link == 77)
        let neighbour = try await self.story(probe, "10.0.0.7")
        #expect(neighbour.rule?.description == "32764: from all lookup main suppress_prefixlength 0")
    }

    @Test("A rule for a user refuses that user only, and is named; so is a route that refuses")
    func refusals() async throws {
        let world = try KernelWorld()
        try world.here.batch(
            """
            rule add uidrange 1000-1000 pref 500 prohibit
            route add unreachable 203.0.113.0/24
            route add blackhole 203.0.113.128/25 table 100
            rule add pref 600 to 203.0.113.0/24 table 100
            route add prohibit 2001:db8:f::/48
            """)
        let probe = try KernelProbe(world.here)
        let refused = try await self.story(probe) { $0.uid = 1000 }
        #expect(refused.lookup.matched == .refused(errno: 13, hasText: false))
        #expect(refused.rule?.description == "500: from all uidrange 1000-1000 prohibit")
        #expect(refused.refusal == nil && refused.chosen == nil)
        #expect(try await self.story(probe).chosen?.link == 77, "root may")
        let route = try await self.story(probe, "203.0.113.1")
        #expect(route.refusal.map { route.text($0) } == "unreachable 203.0.113.0/24 table main")
        #expect(route.rule?.description == "32766: from all lookup main")
        let hole = try await self.story(probe, "203.0.113.200")
        #expect(hole.refusal.map { hole.text($0) } == "blackhole 203.0.113.128/25 table 100")
        #expect(hole.rule?.description == "600: from all to 203.0.113.0/24 lookup 100")
        let six = try await self.story(probe, "2001:db8:f::1")
        #expect(six.refusal?.kind == .other(8) && six.refusal?.prefix.length == 48)
    }

    @Test("Ports and protocols of rules are met by the question's own")
    func transport() async throws {
        let world = try KernelWorld()
        try world.here.batch(
            "rule add pref 500 ipproto udp dport 53 table 100\nroute add default via 10.0.1.1 table 100")
        let probe = try KernelProbe(world.here)
        let dns = try await self.story(probe) { ($0.port, $0.ipProtocol) = (53, RouteQuestion.udp) }
        #expect(dns.chosen?.link == 78 && dns.rule?.priority == 500)
        let tcp = try await self.story(probe) { $0.port = 53 }
        #expect(tcp.chosen?.link == 77 && tcp.rule?.priority == 32766)
    }

    @Test(
        "A VRF's own rule leads to its table",
        .enabled(if: NetworkNamespace.knows("vrf table 10"), "this kernel has no VRF links"))
    func vrf() async throws {
        let world = try KernelWorld()
        try world.here.batch(
            """
            link add red type vrf table 10
            link set red up
            link set v1 master red
            route add default via 10.0.1.1 vrf red
            """)
        let probe = try KernelProbe(world.here)
        let story = try await self.story(probe) { $0.link = 78 }
        #expect(story.rule?.isL3Master == true && story.matched?.table == 10)
        #expect(story.defaults.contains { $0.table == 10 })
    }

    @Test("The settings of the outgoing link are told: rp_filter and ignore_routes_with_linkdown")
    func settings() async throws {
        let world = try KernelWorld()
        try world.here.sysctl("net.ipv4.conf.all.rp_filter=0")
        try world.here.sysctl("net.ipv4.conf.v0.rp_filter=0")
        let probe = try KernelProbe(world.here)
        var story = try await self.story(probe)
        #expect(story.reversePathFilter == 0 && story.ignoresLinkdown == false)
        try world.here.sysctl("net.ipv4.conf.all.rp_filter=1")
        try world.here.sysctl("net.ipv4.conf.v0.rp_filter=2")
        try world.here.sysctl("net.ipv4.conf.v0.ignore_routes_with_linkdown=1")
        story = try await self.story(probe)
        #expect(story.reversePathFilter == 2 && story.ignoresLinkdown == true)
    }

    @Test("What is set for all links together holds for IPv4 on each of them")
    func settingsForAll() async throws {
        let world = try KernelWorld()
        try world.here.batch("route add default via 10.0.1.1 metric 200")
        let probe = try KernelProbe(world.here)
        try world.here.sysctl("net.ipv4.conf.all.ignore_routes_with_linkdown=1")
        try world.here.sysctl("net.ipv4.conf.v0.ignore_routes_with_linkdown=0")
        #expect(try await self.story(probe).ignoresLinkdown == true)
        try world.there.ip("link set p0 down")
        #expect(await probe.holds { $0.tables.link(77)?.hasCarrier == false })
        #expect(try await self.story(probe).chosen?.link == 78, "the kernel takes it for set")
    }

    @Test("An answer that makes no sense, or never comes, leaves its part out and takes nobody's sight")
    func garbled() async throws {
        let world = try KernelWorld()
        let cut = Atomic<Int>(0)
        let probe = try KernelProbe(world.here) { options in
            options.edit = { purpose, bytes in
                // RTM_NEWRULE
                guard purpose == .query, bytes.count > 5, bytes[4] == 32 else { return bytes }
                return Array(bytes.prefix(cut.load(ordering: .acquiring)))
            }
        }
        for length in [10, 0] {
            cut.store(length, ordering: .releasing)
            let story = try await self.story(probe)
            #expect(story.rules.isEmpty && story.chosen?.link == 77)
            #expect(await probe.ask { $0.state } == .connected(.event))
        }
    }

    @Test("A default by a nexthop object, one with legs and one by an IPv6 gateway are told as they are")
    func shapes() async throws {
        let world = try KernelWorld()
        try world.here.batch(
            """
            nexthop add id 10 via 10.0.1.1 dev v1
            route add default nhid 10 metric 50
            route add default metric 300 nexthop via 10.0.0.1 nexthop via 10.0.1.1
            """)
        try world.here.run([
            "ip", "-4", "route", "add", "default", "via", "inet6", "2001:db8::1", "dev", "v0", "metric", "400",
        ])
        let probe = try KernelProbe(world.here)
        let story = try await self.story(probe)
        #expect(
            story.defaults.map { story.text($0) } == [
                "default nhid 10 via 10.0.1.1 dev v1 table main metric 50",
                "default via 10.0.0.1 dev v0 table main metric 100",
                "default table main metric 300 nexthop via 10.0.0.1 dev v0 nexthop via 10.0.1.1 dev v1",
                "default via inet6 2001:db8::1 dev v0 table main metric 400",
            ])
        try world.there.ip("link set p0 down")
        _ = await probe.hears { $0.events.contains { if case .received(.newlink, _) = $0 { true } else { false } } }
        let dead = try await self.story(probe)
        #expect(
            dead.defaults.filter(\.isDead).map { dead.text($0) }.contains(
                "default via 10.0.0.1 dev v0 table main metric 100 linkdown"))
    }

    @Test("Among twenty thousand routes of a daemon's its own default is not missed, and none of them is kept")
    func largeTables() async throws {
        let world = try KernelWorld()
        let routes = (0..<20_000).map { "route add 11.0.\($0 >> 8).\($0 & 255)/32 dev v0 proto bird" }
        try world.here.batch(
            (routes + ["route replace default via 10.0.0.1 metric 100 proto bird"]).joined(separator: "\n"))
        let story = try await self.story(try KernelProbe(world.here))
        #expect(
            story.defaults.map { story.text($0) } == ["default via 10.0.0.1 dev v0 table main proto bird metric 100"])
    }
}
