internal import Testing
internal import TidegateCore
internal import TidegateNetwork

@testable internal import TidegateReachability

/// Why a default route is not the one that is taken.
struct ExplainRivalryTests {
    private static let down = KernelRoute.Nexthop.deadFlags & 0x10

    private static func route(
        _ text: String = "0.0.0.0/0", link: UInt32 = 77, metric: UInt32 = 0, table: UInt32 = 254, flags: UInt32 = 0
    ) -> (KernelRoute, DefaultRoute)? {
        let parts = text.split(separator: "/")
        guard let address = IPAddress(String(parts[0])), let length = UInt8(parts[1]),
            let prefix = IPPrefix(address, length: Int(length))
        else { return nil }
        let route = KernelRoute(
            table: table, prefixLength: length, metric: metric, flags: flags, link: link,
            gateway: IPAddress(ipv4: 0x0A00_0000 + link), source: IPAddress(ipv4: 0x0A00_0002))
        return (route, DefaultRoute(prefix: prefix, route: route))
    }

    private func story(_ winner: (KernelRoute, DefaultRoute)?, _ rivals: [DefaultRoute]) throws -> RouteExplanation {
        let answer = winner.map { RouteLookup.Answer.route($0.0) } ?? .refused(errno: 101, hasText: false)
        var story = RouteExplanation(
            question: RouteQuestion(try address("8.8.8.8")), lookup: RouteLookup(matched: answer, chosen: answer))
        story.defaults = [winner?.1].compactMap(\.self) + rivals
        story.rules = [
            KernelRule(priority: 100, .lookup(100)), KernelRule(priority: 32766, .lookup(254)),
        ]
        story.rule = story.rules.first { $0.table == winner?.0.table }
        story.names = [77: "eth0", 78: "eth1"]
        return story
    }

    @Test("Metrics, prefixes, tables and dead links each say why they lose")
    func reasons() throws {
        let winner = try #require(Self.route(metric: 100))
        let higher = try #require(Self.route(link: 78, metric: 200)).1
        let dead = try #require(Self.route(link: 78, metric: 50, flags: Self.down)).1
        let elsewhere = try #require(Self.route(link: 78, table: 7)).1
        let half = try #require(Self.route("128.0.0.0/1", link: 78)).1
        var story = try self.story(winner, [higher, dead, elsewhere, half])
        story.ignoresLinkdown = true
        #expect(DefaultRouteComparison.reason(higher, story) == "metric 200 is higher than 100")
        #expect(
            DefaultRouteComparison.reason(dead, story)
                == "its link is down, so it is passed over (ignore_routes_with_linkdown=1)")
        #expect(DefaultRouteComparison.reason(elsewhere, story) == "no rule leads to table 7")
        #expect(DefaultRouteComparison.reason(half, story) == "it covers the other half")
        let longer = try #require(Self.route("0.0.0.0/1", link: 78))
        #expect(
            DefaultRouteComparison.reason(winner.1, try self.story(longer, [winner.1])) == "/1 is the longer prefix")
        let first = try #require(Self.route(link: 78, table: 100))
        #expect(
            DefaultRouteComparison.reason(winner.1, try self.story(first, [winner.1]))
                == "rule 100 leads to table 100 first")
    }

    @Test("A live default behind a dead one is pointed out, with the setting that keeps it there")
    func deadWinner() throws {
        let winner = try #require(Self.route(metric: 100, flags: Self.down))
        let live = try #require(Self.route(link: 78, metric: 200)).1
        var story = try self.story(winner, [live])
        story.ignoresLinkdown = false
        #expect(
            DefaultRouteComparison.reason(live, story)
                == "it is live, but metric 200 is higher than 100, and the dead route is not passed over "
                + "(ignore_routes_with_linkdown=0)")
        var way = WayFindings(subject: .target(try address("8.8.8.8")))
        way.verdict = Verdict(level: .none, reason: .noCarrier)
        way.story = story
        let evidence = RouteRung.judge(way).evidence
        #expect(
            evidence.contains(
                "eth0 is down and the kernel takes the route all the same (ignore_routes_with_linkdown=0)"))
        #expect(evidence.contains { $0.hasPrefix("not taken: default via 10.0.0.78 dev eth1 table main ") })
    }

    @Test("The evidence of a good route: the way, what matched, the rule, and a strict rp_filter")
    func evidence() throws {
        let winner = try #require(Self.route(metric: 100))
        var story = try self.story(winner, [])
        story.reversePathFilter = 1
        var way = WayFindings(subject: .target(try address("8.8.8.8")))
        way.verdict = Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 77))
        way.story = story
        #expect(
            RouteRung.judge(way).evidence == [
                "8.8.8.8 via 10.0.0.77 dev eth0 src 10.0.0.2",
                "matched default via 10.0.0.77 dev eth0 table main src 10.0.0.2 metric 100",
                "by rule 32766: from all lookup main",
                "rp_filter is strict on eth0: answers that come in by another link are dropped",
            ])
    }

    @Test("Addresses are cut to their network part")
    func masks() throws {
        #expect(try address("255.255.255.255").masked(to: 12).description == "255.240.0.0")
        #expect(try address("2001:db8:ffff::1").masked(to: 33).description == "2001:db8:8000::")
        #expect(try address("8.8.8.8").masked(to: 0).description == "0.0.0.0")
        #expect(try address("8.8.8.8").masked(to: 32).description == "8.8.8.8")
    }
}
