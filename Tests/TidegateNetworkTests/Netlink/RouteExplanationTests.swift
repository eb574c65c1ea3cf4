internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// Explanations of route lookups by a real kernel.
@Suite(
    .serialized, .enabled(if: NetlinkFixture.isAvailable, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct RouteExplanationTests {
    private func explanation(
        _ netlink: NetlinkFixture, _ destination: String = "8.8.8.8", _ change: (inout RouteQuestion) -> Void = { _ in }
    ) async throws -> RouteExplanation {
        var question = RouteQuestion(try #require(IPAddress(destination)))
        change(&question)
        return try #require(await netlink.explanation(of: question))
    }

    @Test("An explanation has the matched route, its rule and every competing default, the preferred one first")
    func defaults() async throws {
        let veth = try VethPairFixture()
        try veth.here.batch(
            """
            route add default via 10.0.1.1 metric 200 proto dhcp
            route add default via 10.0.1.1 table 100
            route add 0.0.0.0/1 via 10.0.1.1 table 100
            route add 198.51.100.0/24 via 10.0.1.1
            rule add table 100 pref 40000
            """)
        let netlink = try NetlinkFixture(veth.here)
        let explanation = try await self.explanation(netlink)
        #expect(explanation.rule?.description == "32766: from all lookup main")
        #expect(explanation.rules.map(\.priority) == [0, 32766, 32767, 40000])
        #expect(
            explanation.defaults.map { explanation.text($0) } == [
                "default via 10.0.0.1 dev v0 table main metric 100",
                "default via 10.0.1.1 dev v1 table main proto dhcp metric 200",
                "0.0.0.0/1 via 10.0.1.1 dev v1 table 100",
                "default via 10.0.1.1 dev v1 table 100",
            ])
        #expect(explanation.chosen?.gateway == IPAddress("10.0.0.1") && explanation.matched?.metric == 100)
        let six = try await self.explanation(netlink, "2001:4860:4860::8888")
        #expect(six.defaults.map { six.text($0) } == ["default via 2001:db8::1 dev v0 table main metric 1024"])
        #expect(six.rule?.description == "32766: from all lookup main")
        #expect(six.reversePathFilter == nil)
    }

    @Test(
        "With wg-quick's rules the mark decides between the tunnel's table and main, and main has targets on the link")
    func wireGuardRules() async throws {
        let veth = try VethPairFixture()
        try veth.here.batch(
            """
            route add default dev v1 table 51820
            rule add not fwmark 51820 table 51820
            rule add table main suppress_prefixlength 0
            """)
        let netlink = try NetlinkFixture(veth.here)
        let unmarked = try await self.explanation(netlink)
        #expect(unmarked.rule?.description == "32765: not from all fwmark 0xca6c lookup 51820")
        #expect(unmarked.chosen?.link == 78 && unmarked.matched?.table == 51820)
        let marked = try await self.explanation(netlink) { $0.mark = 51820 }
        #expect(marked.rule?.description == "32766: from all lookup main" && marked.chosen?.link == 77)
        let neighbour = try await self.explanation(netlink, "10.0.0.7")
        #expect(neighbour.rule?.description == "32764: from all lookup main suppress_prefixlength 0")
    }

    @Test("A rule that prohibits a user is reported for that user only, and so is a route that refuses")
    func refusals() async throws {
        let veth = try VethPairFixture()
        try veth.here.batch(
            """
            rule add uidrange 1000-1000 pref 500 prohibit
            route add unreachable 203.0.113.0/24
            route add blackhole 203.0.113.128/25 table 100
            rule add pref 600 to 203.0.113.0/24 table 100
            route add prohibit 2001:db8:f::/48
            """)
        let netlink = try NetlinkFixture(veth.here)
        let refused = try await self.explanation(netlink) { $0.uid = 1000 }
        #expect(refused.lookup.matched == .refused(errno: 13, hasText: false))
        #expect(refused.rule?.description == "500: from all uidrange 1000-1000 prohibit")
        #expect(refused.refusal == nil && refused.chosen == nil)
        #expect(try await self.explanation(netlink).chosen?.link == 77, "root may")
        let route = try await self.explanation(netlink, "203.0.113.1")
        #expect(route.refusal.map { route.text($0) } == "unreachable 203.0.113.0/24 table main")
        #expect(route.rule?.description == "32766: from all lookup main")
        let hole = try await self.explanation(netlink, "203.0.113.200")
        #expect(hole.refusal.map { hole.text($0) } == "blackhole 203.0.113.128/25 table 100")
        #expect(hole.rule?.description == "600: from all to 203.0.113.0/24 lookup 100")
        let six = try await self.explanation(netlink, "2001:db8:f::1")
        #expect(six.refusal?.kind == .prohibit && six.refusal?.prefix.length == 48)
    }

    @Test("Rules with ports and protocols are compared with those of the question")
    func transport() async throws {
        let veth = try VethPairFixture()
        try veth.here.batch(
            "rule add pref 500 ipproto udp dport 53 table 100\nroute add default via 10.0.1.1 table 100")
        let netlink = try NetlinkFixture(veth.here)
        let dns = try await self.explanation(netlink) { ($0.port, $0.ipProtocol) = (53, RouteQuestion.udp) }
        #expect(dns.chosen?.link == 78 && dns.rule?.priority == 500)
        let tcp = try await self.explanation(netlink) { $0.port = 53 }
        #expect(tcp.chosen?.link == 77 && tcp.rule?.priority == 32766)
    }

    @Test(
        "The rule for VRFs leads to the VRF's table",
        .enabled(if: NetworkNamespace.supports("vrf table 10"), "this kernel has no VRF links"))
    func vrf() async throws {
        let veth = try VethPairFixture()
        try veth.here.batch(
            """
            link add red type vrf table 10
            link set red up
            link set v1 master red
            route add default via 10.0.1.1 vrf red
            """)
        let netlink = try NetlinkFixture(veth.here)
        let explanation = try await self.explanation(netlink) { $0.link = 78 }
        #expect(explanation.rule?.isL3Master == true && explanation.matched?.table == 10)
        #expect(explanation.defaults.contains { $0.table == 10 })
    }

    @Test("An explanation has rp_filter and ignore_routes_with_linkdown of the outgoing link")
    func settings() async throws {
        let veth = try VethPairFixture()
        try veth.here.sysctl("net.ipv4.conf.all.rp_filter=0")
        try veth.here.sysctl("net.ipv4.conf.v0.rp_filter=0")
        let netlink = try NetlinkFixture(veth.here)
        var explanation = try await self.explanation(netlink)
        #expect(explanation.reversePathFilter == 0 && explanation.ignoresLinkdown == false)
        try veth.here.sysctl("net.ipv4.conf.all.rp_filter=1")
        try veth.here.sysctl("net.ipv4.conf.v0.rp_filter=2")
        try veth.here.sysctl("net.ipv4.conf.v0.ignore_routes_with_linkdown=1")
        explanation = try await self.explanation(netlink)
        #expect(explanation.reversePathFilter == 2 && explanation.ignoresLinkdown == true)
    }

    @Test("A setting for all links applies to IPv4 on each link")
    func settingsForAll() async throws {
        let veth = try VethPairFixture()
        try veth.here.batch("route add default via 10.0.1.1 metric 200")
        let netlink = try NetlinkFixture(veth.here)
        try veth.here.sysctl("net.ipv4.conf.all.ignore_routes_with_linkdown=1")
        try veth.here.sysctl("net.ipv4.conf.v0.ignore_routes_with_linkdown=0")
        #expect(try await self.explanation(netlink).ignoresLinkdown == true)
        try veth.there.ip("link set p0 down")
        #expect(await netlink.becomes { $0.tables.link(77)?.hasCarrier == false })
        #expect(try await self.explanation(netlink).chosen?.link == 78, "the kernel uses the setting")
    }

    @Test("A malformed or missing answer leaves its part out and keeps the connection")
    func garbled() async throws {
        let veth = try VethPairFixture()
        let cut = Atomic<Int>(0)
        let netlink = try NetlinkFixture(veth.here) { options in
            options.edit = { kind, bytes in
                // RTM_NEWRULE
                guard kind == .query, bytes.count > 5, bytes[4] == 32 else { return bytes }
                return Array(bytes.prefix(cut.load(ordering: .acquiring)))
            }
        }
        for length in [10, 0] {
            cut.store(length, ordering: .releasing)
            let explanation = try await self.explanation(netlink)
            #expect(explanation.rules.isEmpty && explanation.chosen?.link == 77)
            #expect(await netlink.run { $0.state } == .connected(.event))
        }
    }

    @Test(
        "Defaults by a nexthop object, with several nexthops and by an IPv6 gateway are described as iproute2 prints them"
    )
    func shapes() async throws {
        let veth = try VethPairFixture()
        try veth.here.batch(
            """
            nexthop add id 10 via 10.0.1.1 dev v1
            route add default nhid 10 metric 50
            route add default metric 300 nexthop via 10.0.0.1 nexthop via 10.0.1.1
            """)
        try veth.here.run([
            "ip", "-4", "route", "add", "default", "via", "inet6", "2001:db8::1", "dev", "v0", "metric", "400",
        ])
        let netlink = try NetlinkFixture(veth.here)
        let explanation = try await self.explanation(netlink)
        #expect(
            explanation.defaults.map { explanation.text($0) } == [
                "default nhid 10 via 10.0.1.1 dev v1 table main metric 50",
                "default via 10.0.0.1 dev v0 table main metric 100",
                "default table main metric 300 nexthop via 10.0.0.1 dev v0 nexthop via 10.0.1.1 dev v1",
                "default via inet6 2001:db8::1 dev v0 table main metric 400",
            ])
        try veth.there.ip("link set p0 down")
        _ = await netlink.records { $0.events.contains { if case .received(.newlink, _) = $0 { true } else { false } } }
        let dead = try await self.explanation(netlink)
        #expect(
            dead.defaults.filter(\.isDead).map { dead.text($0) }.contains(
                "default via 10.0.0.1 dev v0 table main metric 100 linkdown"))
    }

    @Test("Of twenty thousand routes of a routing daemon only its default is kept")
    func largeTables() async throws {
        let veth = try VethPairFixture()
        let routes = (0..<20_000).map { "route add 11.0.\($0 >> 8).\($0 & 255)/32 dev v0 proto bird" }
        try veth.here.batch(
            (routes + ["route replace default via 10.0.0.1 metric 100 proto bird"]).joined(separator: "\n"))
        let explanation = try await self.explanation(try NetlinkFixture(veth.here))
        #expect(
            explanation.defaults.map { explanation.text($0) } == [
                "default via 10.0.0.1 dev v0 table main proto bird metric 100"
            ])
    }
}
