internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork

@testable internal import TidegateReachability

/// Why the kernel does not take a default route.
struct DefaultRouteComparisonTests {
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

    private func explanation(_ winner: (KernelRoute, DefaultRoute)?, _ alternatives: [DefaultRoute]) throws
        -> RouteExplanation
    {
        let answer = winner.map { RouteLookup.Answer.route($0.0) } ?? .refused(errno: 101, hasText: false)
        var explanation = RouteExplanation(
            question: RouteQuestion(try address("8.8.8.8")), lookup: RouteLookup(matched: answer, chosen: answer))
        explanation.defaults = [winner?.1].compactMap(\.self) + alternatives
        explanation.rules = [
            KernelRule(priority: 100, action: .lookup(100)), KernelRule(priority: 32766, action: .lookup(254)),
        ]
        explanation.rule = explanation.rules.first { $0.table == winner?.0.table }
        explanation.names = [77: "eth0", 78: "eth1"]
        return explanation
    }

    @Test("Metrics, prefixes, tables and dead links each give a reason")
    func reasons() throws {
        let winner = try #require(Self.route(metric: 100))
        let higher = try #require(Self.route(link: 78, metric: 200)).1
        let dead = try #require(Self.route(link: 78, metric: 50, flags: Self.down)).1
        let elsewhere = try #require(Self.route(link: 78, table: 7)).1
        let half = try #require(Self.route("128.0.0.0/1", link: 78)).1
        var explanation = try self.explanation(winner, [higher, dead, elsewhere, half])
        explanation.ignoresLinkdown = true
        #expect(explanation.reason(against: higher) == "metric 200 is higher than 100")
        #expect(
            explanation.reason(against: dead)
                == "its link is down, so it is passed over (ignore_routes_with_linkdown=1)")
        #expect(explanation.reason(against: elsewhere) == "no rule leads to table 7")
        #expect(explanation.reason(against: half) == "it covers the other half")
        let longer = try #require(Self.route("0.0.0.0/1", link: 78))
        #expect(
            try self.explanation(longer, [winner.1]).reason(against: winner.1)
                == "/1 is the longer prefix")
        let first = try #require(Self.route(link: 78, table: 100))
        #expect(
            try self.explanation(first, [winner.1]).reason(against: winner.1)
                == "rule 100 leads to table 100 first")
    }

    @Test("Another link is offered before the kernel has marked the routes of the one without carrier")
    func firstSecond() throws {
        let winner = try #require(Self.route(metric: 100))
        let sameLink = try #require(Self.route(metric: 150)).1
        let live = try #require(Self.route(link: 78, metric: 200)).1
        var explanation = try self.explanation(winner, [sameLink, live])
        explanation.ignoresLinkdown = false
        #expect(explanation.liveAlternative(.noCarrier) == "eth1")
        #expect(explanation.liveAlternative(.adminDown) == nil)
        #expect(try self.explanation(winner, [live]).liveAlternative(.noCarrier) == nil, "the setting is not known")
    }

    @Test("A live default behind a dead one is named, with the setting that hides it")
    func deadWinner() throws {
        let winner = try #require(Self.route(metric: 100, flags: Self.down))
        let live = try #require(Self.route(link: 78, metric: 200)).1
        var explanation = try self.explanation(winner, [live])
        explanation.ignoresLinkdown = false
        #expect(
            explanation.reason(against: live)
                == "it is live, but metric 200 is higher than 100, and the dead route is not passed over "
                + "(ignore_routes_with_linkdown=0)")
        var way = PathFindings(subject: .target(try address("8.8.8.8")))
        way.verdict = Verdict(level: .none, reason: .noCarrier)
        way.explanation = explanation
        let evidence = way.routeRung.evidence
        #expect(
            evidence.contains(
                "eth0 is down but the kernel uses the route anyway (ignore_routes_with_linkdown=0)"))
        #expect(evidence.contains { $0.hasPrefix("not taken: default via 10.0.0.78 dev eth1 table main ") })
    }

    @Test("The evidence of a good route: the path, what matched, the rule, and a strict rp_filter")
    func evidence() throws {
        let winner = try #require(Self.route(metric: 100))
        var explanation = try self.explanation(winner, [])
        explanation.reversePathFilter = 1
        var way = PathFindings(subject: .target(try address("8.8.8.8")))
        way.verdict = Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 77))
        way.explanation = explanation
        #expect(
            way.routeRung.evidence == [
                "8.8.8.8 via 10.0.0.77 dev eth0 src 10.0.0.2",
                "matched default via 10.0.0.77 dev eth0 table main src 10.0.0.2 metric 100",
                "by rule 32766: from all lookup main",
                "rp_filter is strict on eth0: answers that come in by another link are dropped",
            ])
    }

    @Test("Addresses are cut to their network part")
    func masks() throws {
        #expect(IPPrefix(around: try address("255.255.255.255"), length: 12)?.description == "255.240.0.0/12")
        #expect(IPPrefix(around: try address("2001:db8:ffff::1"), length: 33)?.description == "2001:db8:8000::/33")
        #expect(IPPrefix(around: try address("8.8.8.8"), length: 0)?.description == "0.0.0.0/0")
        #expect(IPPrefix(around: try address("8.8.8.8"), length: 32)?.description == "8.8.8.8/32")
    }
}
