import Glibc
import Testing
import TidegateAttribution
@testable import TidegateCore
@testable import TidegateNetwork
import TidegateTestKit

@testable import TidegateReachability

/// Silences that this host's own routes, rules, neighbours and settings explain, each beside a twin that they do not.
@Suite struct HostTablesTests {
    private static let gateway = IPAddress(ipv4: 0xC0A8_0A01)
    private static let own = IPAddress(ipv4: 0xC0A8_0A14)
    private static let other = IPAddress(ipv4: 0xC0A8_1414)
    private static let server = IPAddress(ipv4: 0xC633_6402)
    private static let office = IPAddress(ipv4: 0x0A32_0014)
    private static let edge = IPAddress(ipv4: 0x6446_0001)
    private static let silence = HTTPCheck.Result(reached: nil, failure: .timedOut)

    private static func link(_ name: String, _ index: UInt32, _ address: IPAddress, _ kind: Link.Kind = .ethernet)
        -> Link
    {
        var link = Link(name: name, index: index, kind: kind)
        (link.isAdminUp, link.hasCarrier, link.operState, link.usableFamilies) = (true, true, .up, [.ipv4])
        link.addresses = [IPPrefix(address, length: 24)].compactMap(\.self)
        return link
    }

    private static let links = [link("lan1", 2, own), link("lan2", 3, other)]

    /// A silent target behind the gateway, and a walk to it that ends at the provider's first router.
    private static func silent(_ address: IPAddress, prefixLength: UInt8 = 0) -> PathFindings {
        var way = PathFindings(subject: .target(address), addresses: [address])
        way.verdict = Verdict(
            level: .routed, path: NetworkPath(interface: "lan1", index: 2, gateway: self.gateway, source: self.own))
        way.gateway.neighbour = KernelNeighbour(address: self.gateway, link: 2, state: .reachable)
        let route = KernelRoute(prefixLength: prefixLength)
        way.explanation = RouteExplanation(
            question: RouteQuestion(address), lookup: RouteLookup(matched: .route(route), chosen: .route(route)))
        way.web = [address: self.silence]
        way.walk = HopWalkResult(
            destination: address, port: 80, hops: [self.spent(self.gateway), self.spent(self.edge), .silent])
        return way
    }

    private static func spent(_ router: IPAddress) -> HopWalkResult.Outcome {
        .answered(ICMPError(offender: router, type: 11, code: 0), by: router, after: .milliseconds(1))
    }

    /// A walk to a public address that answers.
    private static let reached = HopWalkResult(
        destination: IPAddress(ipv4: 0x0101_0101), port: 80,
        hops: [spent(gateway), .reached(.refused, after: .milliseconds(2))])

    private static func explain(
        _ way: PathFindings, name: NameFindings? = nil, links: [Link] = Self.links
    ) throws -> Explanation {
        var findings = LadderFindings(target: try ExplainTarget("http://\(way.subject.address)/"), families: [.ipv4])
        (findings.links, findings.paths, findings.name) = (links, [.ipv4: way], name)
        return ExplanationComposer.compose(findings)
    }

    @Test("A private address whose packets end on the internet lacks a route of this host")
    func privateAddress() throws {
        var way = Self.silent(Self.office)
        #expect(try Self.explain(way).party != .mine, "nothing shows that the internet works")
        way.sentinelWalk = Self.reached
        let found = try Self.explain(way)
        #expect(
            found.cause == .thisHost(.privateAddress(Self.office, isResolver: false, after: Self.edge, down: nil)),
            "\(found)")
        #expect(found.advice.contains("ip route add 10.50.0.20 via"), "\(found.advice)")
        var (fallback, vpn0) = (Link(name: "tunl0", index: 8, kind: .tunnel), Self.link("vpn0", 9, Self.own, .tunnel))
        (fallback.reason, vpn0.reason) = (.adminDown, .adminDown)
        let down = try Self.explain(way, links: Self.links + [fallback, vpn0])
        #expect(down.advice.hasPrefix("Bring up vpn0, or add a route"), "\(down.advice)")
        var others = [Self.silent(Self.server), Self.silent(Self.office, prefixLength: 16), way]
        others[2].walk?.hops = [Self.spent(Self.gateway), Self.spent(IPAddress(ipv4: 0x0A00_0001)), .silent]
        for (index, why) in ["a public address", "a route leads there", "private networks only"].enumerated() {
            others[index].sentinelWalk = Self.reached
            #expect(try Self.explain(others[index]).party != .mine, "\(why)")
        }
    }

    /// The way to the internet as a whole, with the ends of two walks.
    private static func internet(
        _ first: [HopWalkResult.Outcome], _ second: [HopWalkResult.Outcome], _ resolver: ResolverFindings? = nil
    ) -> Explanation {
        var way = Self.silent(Self.server)
        (way.subject, way.addresses, way.web) = (.sentinel(Self.server), [], [:])
        way.walk?.hops = first
        way.sentinelWalk = HopWalkResult(destination: IPAddress(ipv4: 0x0808_0808), port: 53, hops: second)
        var findings = LadderFindings(target: .internet, families: [.ipv4])
        (findings.links, findings.paths) = (Self.links, [.ipv4: way])
        findings.name = NameFindings(name: "a.root-servers.net", servers: [resolver].compactMap(\.self))
        return ExplanationComposer.compose(findings)
    }

    private static func resolver(_ address: IPAddress, via gateway: IPAddress?) -> ResolverFindings {
        var verdict = Verdict(level: .routed, path: NetworkPath(interface: "lan1", index: 2, source: self.own))
        verdict.path?.gateway = gateway
        return ResolverFindings(
            server: address, verdict: verdict, control: .answered([self.server], timeToLive: .seconds(60)))
    }

    @Test("Where packets to two networks end at one router, the provider's resolver on that router proves nothing")
    func commonEnd() {
        let (end, further) = ([Self.spent(Self.gateway), Self.spent(Self.edge), .silent], Self.reached.hops)
        let own = Self.resolver(Self.edge, via: Self.gateway)
        for resolver in [own, nil] {
            let found = Self.internet(end, end, resolver)
            #expect(found.cause == .provider(.ends(after: Self.edge)), "\(found)")
            #expect(Self.internet(end, further, resolver).conclusion == .works)
        }
        let elsewhere = Self.resolver(IPAddress(ipv4: 0xCB00_7135), via: Self.gateway)
        #expect(Self.internet(end, end, elsewhere).conclusion == .works, "it answers from beyond that router")
        var forwarder = Self.resolver(IPAddress(ipv4: 0xC0A8_0A35), via: nil)
        #expect(Self.internet(end, end, forwarder).conclusion == .works, "it reaches other servers")
        forwarder.hasOnlyKept = true
        #expect(Self.internet(end, end, forwarder).cause == .provider(.ends(after: Self.edge)))
    }

    @Test("A router that answers a spent hop limit first, and then has no route, has refused")
    func laterRefusal() {
        let refusal = ICMPError(offender: Self.edge, type: 3, code: 0)
        let hops = [Self.spent(Self.gateway), Self.spent(Self.edge), .answered(refusal, by: Self.edge, after: .zero)]
        #expect(HopWalkResult(destination: Self.server, port: 53, hops: hops).refusal == refusal)
        let silent: [HopWalkResult.Outcome] = [.silent, .silent]
        #expect(Self.internet(hops, silent).cause == .provider(.ends(after: Self.edge)))
    }

    @Test("A source address of another link is this host's, unless hosts answer packets that have it as well")
    func foreignSource() throws {
        var way = Self.silent(Self.server)
        way.verdict.path?.source = Self.other
        #expect(try Self.explain(way).party != .mine, "routers answer packets from this address")
        way.walk?.hops = [.silent, .silent]
        let found = try Self.explain(way)
        #expect(found.cause == .thisHost(.foreignSource(Self.other, link: "lan1", of: "lan2")), "\(found)")
        way.sentinelWalk = Self.reached
        #expect(try Self.explain(way).party != .mine, "others answer packets from the same address")
        way.hasUsualSource = false
        #expect(try Self.explain(way).party == .mine)
        way.verdict.path?.source = Self.own
        #expect(try Self.explain(way).party != .mine)
        way.verdict.path?.source = Self.other
        let bridged = [Self.links[0], Self.link("br0", 3, Self.other, .bridge)]
        #expect(try Self.explain(way, links: bridged).party != .mine, "an address of the host as a whole")
    }

    @Test("A static neighbour entry proves no gateway: if nothing answers through it, it is the first suspect")
    func staticNeighbour() throws {
        var way = Self.silent(Self.server)
        way.walk?.hops = [.silent, .silent, .silent]
        way.gateway.neighbour?.state = .permanent
        let found = try Self.explain(way)
        #expect(found.cause == .thisHost(.staticNeighbour(Self.gateway, link: "lan1")), "\(found)")
        #expect(found.advice.contains("ip neigh del 192.168.10.1 dev lan1"), "\(found.advice)")
        way.walk?.hops = [Self.spent(Self.gateway), .silent]
        #expect(try Self.explain(way).party == .upstream, "the gateway answers")
    }

    /// A silent target in a tunnel that took packets and brought none back, with the path of its own packets.
    private static func tunnel(
        _ below: TunnelFindings.Underlay?, links: [Link] = Self.links, _ change: (inout PathFindings) -> Void = { _ in }
    ) throws -> Cause? {
        var way = Self.silent(Self.office)
        way.verdict = Verdict(
            level: .routed, path: NetworkPath(interface: "vpn0", index: 9, source: IPAddress(ipv4: 0x0A63_0002)),
            notes: [.tunnel])
        (way.walk, way.gateway.neighbour, way.gateway.resolvesNeighbours) = (nil, nil, false)
        way.tunnel = TunnelFindings(link: "vpn0", sent: 9, below: below)
        change(&way)
        return try Self.explain(way, links: links).cause
    }

    private static func below(_ hops: HopWalkResult.Outcome...) -> TunnelFindings.Underlay {
        TunnelFindings.Underlay(
            link: "lan1", gateway: Self.gateway,
            walk: HopWalkResult(destination: IPAddress(ipv4: 0xC000_0209), port: 33_434, hops: hops))
    }

    @Test("A silent tunnel: its far end, the link below it, a route into itself, or what is behind its far end")
    func silentTunnel() throws {
        let (near, edge) = (Self.spent(Self.gateway), Self.spent(Self.edge))
        let works = Self.below(near, edge, .reached(.refused, after: .milliseconds(9)))
        #expect(try Self.tunnel(works) == .onTheWay(.silentTunnel("vpn0", over: "lan1")))
        #expect(try Self.tunnel(Self.below(near, .silent)) == .provider(.nothingBeyond(gateway: Self.gateway)))
        #expect(try Self.tunnel(Self.below(near, edge, .silent)) == .provider(.ends(after: Self.edge)))
        #expect(try Self.tunnel(nil) == .thisHost(.tunnelInItself("vpn0")))
        let far = IPAddress(ipv4: 0x0A63_0001)
        let behind = try Self.tunnel(works) { way in
            way.tunnel?.received = 3
            way.tunnel?.inside = HopWalkResult(destination: Self.office, port: 80, hops: [Self.spent(far), .silent])
        }
        #expect(behind == .onTheWay(.tunnelEnds("vpn0", after: far)))
        let further = try Self.tunnel(works) { way in
            way.tunnel?.received = 3
            way.tunnel?.inside = HopWalkResult(
                destination: Self.office, port: 80, hops: [Self.spent(far), Self.spent(Self.edge), .silent])
        }
        #expect(further == .unknown(.silence), "packets pass the far end")
        let gone = try Self.tunnel(works) { way in
            let refusal = ICMPError(offender: far, type: 3, code: 1)
            way.tunnel?.received = 3
            way.tunnel?.inside = HopWalkResult(
                destination: Self.office, port: 80,
                hops: [Self.spent(far), .answered(refusal, by: far, after: .zero)])
            way.web = [Self.office: HTTPCheck.Result(reached: nil, failure: .connectFailed, refusal: refusal)]
        }
        #expect(gone?.party == .theirs, "the far end says that the host is gone")
    }

    @Test("A tunnel that takes no packet, or whose lower link was not asked, convicts no party")
    func unknownTunnel() throws {
        let unasked = TunnelFindings.Underlay(link: "lan1", gateway: Self.gateway)
        let unknown = Cause.unknown(.silentTunnel("vpn0"))
        #expect(try Self.tunnel(unasked) == unknown)
        #expect(try Self.tunnel(Self.below(.silent, .silent)) == unknown)
        #expect(try Self.tunnel(nil) { $0.tunnel?.sent = 0 } == .unknown(.silence))
        var other = Self.links
        other[0].usableFamilies = [.ipv4, .ipv6]
        let silent = try Self.tunnel(unasked) { way in
            way.sentinelWalk = HopWalkResult(destination: IPAddress(ipv4: 0x0808_0808), port: 53, hops: [.silent])
        }
        #expect(silent == unknown, "silent witnesses in the tunnel")
        for links in [other, []] {
            #expect(try Self.tunnel(nil, links: links) == unknown, "its packets may leave elsewhere")
        }
    }

    @Test("A point-to-point line and a translator are not called tunnels")
    func otherDevices() throws {
        #expect(
            try Self.tunnel(nil) { $0.tunnel = TunnelFindings(link: "ppp0", sent: 9) } == .provider(.silentLine("ppp0"))
        )
        for isIPv6Working in [true, false] {
            let end = isIPv6Working ? HopWalkResult.Outcome.reached(.refused, after: .zero) : .silent
            let translated = try Self.tunnel(Self.below(.silent, end)) { way in
                way.verdict.path?.source = IPAddress(ipv4: 0xC000_0004)
            }
            #expect(translated == (isIPv6Working ? .thisHost(.silentTranslator("vpn0")) : .unknown(.silence)))
        }
    }

    @Test("Uplinks are the links of default routes: used, shared or standby, none beside a tunnel, dead ones down")
    func uplinks() throws {
        let prefix = try #require(IPPrefix(around: Self.server, length: 0))
        func names(_ flags: UInt32 = 0, shared: Bool = false, _ change: (inout Verdict) -> Void = { _ in }) -> [String]
        {
            var matched = KernelRoute(link: 2, gateway: Self.gateway)
            let second = KernelRoute.Nexthop(link: 3, gateway: IPAddress(ipv4: 0xC0A8_1401), flags: flags)
            if shared { matched.nexthops = [.init(link: 2, gateway: Self.gateway), second] }
            var standby = KernelRoute(metric: 200, flags: flags)
            (standby.link, standby.gateway) = (3, second.gateway)
            var explanation = RouteExplanation(
                question: RouteQuestion(Self.server),
                lookup: RouteLookup(matched: .route(matched), chosen: .route(matched)))
            explanation.defaults = [matched, standby].map { DefaultRoute(prefix: prefix, route: $0) }
            var verdict = Verdict(level: .routed, path: NetworkPath(interface: "lan1", index: 2, gateway: Self.gateway))
            change(&verdict)
            return explanation.uplinks(verdict, links: Self.links).map { "\($0.interface) \($0.role) \($0.state)" }
        }
        #expect(names() == ["lan1 used unknown", "lan2 standby unknown"])
        #expect(names(0x10) == ["lan1 used unknown", "lan2 standby down"])
        #expect(names(shared: true) == ["lan1 member unknown", "lan2 member unknown"])
        #expect(names(0x10, shared: true) == ["lan1 member unknown", "lan2 member down"], "packets are sent there")
        #expect(names(0x01, shared: true) == ["lan1 used unknown", "lan2 standby down"])
        #expect(names { $0.notes.append(.tunnel) } == [])
        #expect(names { $0.path = nil } == [])
    }

    @Test("If the way out does not work, the advice names it and says what the others do")
    func otherWays() throws {
        var way = Self.silent(Self.server)
        way.sentinelWalk = HopWalkResult(
            destination: IPAddress(ipv4: 0x0808_0808), port: 53, hops: way.walk?.hops ?? [])
        var others = [Uplink("lan2", IPAddress(ipv4: 0xC0A8_1401)), Uplink("wwan0", nil)]
        (others[0].state, others[1].state) = (.works, .silent)
        way.otherWays = others
        let advice = try Self.explain(way).advice
        #expect(
            advice.hasSuffix(
                " This host goes out by lan1; lan2 works: ip route replace default via 192.168.20.1 dev lan2; "
                    + "no echo comes back over wwan0, not even from its first router."),
            "\(advice)")
        way.web = [Self.server: HTTPCheck.Result(reached: nil, failure: .connectFailed, socketError: .refused)]
        let refused = try Self.explain(way)
        #expect(refused.party == .theirs && !refused.advice.contains("lan2"), "another way would not help")
    }

    @Test("Echoes over another way tell its provider from its router; without any it is not known")
    func otherWayStates() {
        let answer = EchoClient.Result.answered(hopLimit: 64, after: .milliseconds(1))
        let noRoute = EchoClient.Result.refused(ICMPError(offender: Self.gateway, type: 3, code: 0))
        let own = EchoClient.Result.refused(ICMPError(offender: nil, type: 3, code: 0))
        let ownAddress = EchoClient.Result.refused(ICMPError(offender: Self.own, type: 3, code: 1))
        let rows: [([EchoClient.Result], Uplink.State)] = [
            ([answer, .silent, answer], .works), ([.silent, answer, .silent], .works),
            ([answer, .silent, .silent], .provider), ([.silent, noRoute, .silent], .provider),
            ([.silent, .silent, .silent], .silent), ([.silent, own, own], .silent),
            ([.silent, ownAddress, own], .silent),
            ([.failed(.notPermitted), .failed(.notPermitted), .failed(.notPermitted)], .unknown),
        ]
        for (answers, state) in rows { #expect(Uplink.State(answers, from: Self.gateway) == state, "\(answers)") }
        #expect(Uplink.State([answer, .silent], from: nil) == .works, "a link without a gateway")
    }

    @Test("Answers that rp_filter dropped are this host's; a few packets of others are none")
    func reversePathFilter() throws {
        var way = Self.silent(Self.server)
        way.misrouted = 20
        let found = try Self.explain(way)
        #expect(found.cause == .thisHost(.reversePathFilter(count: 20, link: "lan1")), "\(found)")
        #expect(found.advice.contains("rp_filter=2"), "\(found.advice)")
        way.dropped = 30
        #expect(try Self.explain(way).cause == found.cause, "these are the packets that a filter seems to drop")
        (way.dropped, way.misrouted) = (0, 19)
        #expect(try Self.explain(way).party != .mine)
    }

    @Test("Packets that a filter of this host dropped while a silent target was asked are its answers; a few are not")
    func droppedAnswers() throws {
        var way = Self.silent(Self.server)
        way.sentinelWalk = Self.reached
        way.dropped = 10
        let found = try Self.explain(way)
        #expect(found.cause == .thisHost(.dropsAnswers(count: 10, from: Self.server)), "\(found)")
        #expect(found.advice.contains("nft list ruleset"), "\(found.advice)")
        way.dropped = 9
        #expect(try Self.explain(way).party == .path)
    }

    @Test("TCP that ends on the way, where UDP passes, is no failure of the server")
    func filteredTCP() throws {
        var way = Self.silent(Self.server)
        way.sentinelWalk = Self.reached
        way.port = 853
        way.walk = HopWalkResult(
            destination: Self.server, port: 853,
            hops: [Self.spent(Self.gateway), Self.spent(Self.edge), .reached(.datagram, after: .milliseconds(3))])
        #expect(try Self.explain(way).cause == .server(.portSilent))
        way.walk?.tcpEnd = Self.gateway
        let found = try Self.explain(way)
        #expect(found.cause == .onTheWay(.tcpEnds(after: Self.gateway, port: 853)), "\(found)")
        #expect(found.party == .path && found.advice.contains("filter of TCP port 853"), "\(found.advice)")
        way.web = [Self.server: HTTPCheck.Result(reached: nil, failure: .connectFailed, socketError: .refused)]
        #expect(try Self.explain(way).party == .theirs, "the server refused a TCP connection")
    }

    @Test("An error of a filter is the full table of connections if that is full")
    func fullTable() throws {
        var way = Self.silent(Self.server)
        way.walk = HopWalkResult(destination: Self.server, port: 80, hops: [.failed(EPERM)])
        guard case .thisHost(.filter) = try Self.explain(way).cause else {
            Issue.record("\(try Self.explain(way))")
            return
        }
        var host = HostEvidence()
        (host.trackedConnections, host.trackedLimit) = (98, 100)
        way.add(way.walk, nil, host)
        #expect(try Self.explain(way).cause == .thisHost(.connectionTable(count: 98, limit: 100)))
        host.trackedConnections = 97
        way.fullTable = nil
        way.add(way.walk, nil, host)
        #expect(way.fullTable == nil)
    }

    @Test("Private name servers that are asked on the internet are this host's; those of the own network are not")
    func privateResolver() throws {
        func explain(_ end: IPAddress) throws -> Explanation {
            var way = Self.silent(Self.server)
            (way.subject, way.web) = (.sentinel(Self.server), [:])
            way.walk = Self.reached
            var name = NameFindings(name: "web.test", system: .failure(.timedOut))
            name.servers = [
                ResolverFindings(server: Self.office, verdict: way.verdict, answers: [.a: .timedOut, .aaaa: .timedOut])
            ]
            name.walks = [
                Self.office: HopWalkResult(
                    destination: Self.office, port: 53, hops: [Self.spent(Self.gateway), Self.spent(end), .silent])
            ]
            var findings = LadderFindings(target: try ExplainTarget("http://web.test/"), families: [.ipv4])
            (findings.links, findings.paths, findings.name) = (Self.links, [.ipv4: way], name)
            return ExplanationComposer.compose(findings)
        }
        let found = try explain(Self.edge)
        #expect(
            found.cause == .thisHost(.privateAddress(Self.office, isResolver: true, after: Self.edge, down: nil)),
            "\(found)")
        #expect(found.advice.hasPrefix("Remove 10.50.0.20 from the name servers"), "\(found.advice)")
        #expect(try explain(IPAddress(ipv4: 0x0A00_0001)).party == .resolver)
    }
}
