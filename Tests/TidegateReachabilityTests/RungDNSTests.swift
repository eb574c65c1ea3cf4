internal import Testing
internal import TidegateCore
internal import TidegateNetwork

@testable internal import TidegateReachability

/// Whose fault it is that a name has no address.
struct RungDNSTests {
    private static let server = IPAddress(ipv4: 0x0A00_0001)
    private static let routed = Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 77))
    private static let good = DNSOutcome.answered([IPAddress(ipv4: 0xC633_6402)], timeToLive: .seconds(60))

    private static func resolver(
        _ outcome: DNSOutcome?, control: DNSOutcome? = nil, _ verdict: Verdict = routed, _ address: IPAddress = server
    ) -> ResolverFindings {
        ResolverFindings(
            server: address, verdict: verdict, answers: outcome.map { [.a: $0] } ?? [:], control: control)
    }

    private static let noRoute = Verdict(level: .none, reason: .noRoute)

    @Test(
        "A name without an address",
        arguments: [
            ([resolver(.nameNotFound, control: good)], UnreachableReason?.some(.nameNotFound)),
            ([resolver(.noData)], .nameNotFound),
            ([resolver(.timedOut)], .resolverTimeout),
            ([resolver(.failed(code: "SERVFAIL"))], .resolverFailed),
            ([resolver(.refused, IPAddress(ipv4: 0x7F00_0035))], .resolverFailed),
            ([resolver(nil, noRoute)], .resolverNoRoute),
            ([resolver(.unreachable(nil))], .resolverNoRoute),
            ([resolver(nil, noRoute), resolver(.timedOut)], .resolverTimeout),
            ([resolver(.timedOut), resolver(.failed(code: "REFUSED"))], .resolverFailed),
            ([resolver(.timedOut), resolver(.nameNotFound)], .nameNotFound),
            ([], .resolverTimeout),
        ] as [([ResolverFindings], UnreachableReason?)])
    func failures(_ servers: [ResolverFindings], _ reason: UnreachableReason?) {
        let findings = NameFindings(name: "api.test", system: .failure(.timedOut), servers: servers)
        let report = DNSRung.report(findings, family: .ipv4)
        #expect(report.status == .bad && report.reason == reason, "\(report)")
    }

    private static func resolver(_ outcome: DNSOutcome?, _ verdict: Verdict) -> ResolverFindings {
        self.resolver(outcome, control: nil, verdict)
    }

    private static func resolver(_ outcome: DNSOutcome?, _ address: IPAddress) -> ResolverFindings {
        self.resolver(outcome, control: nil, self.routed, address)
    }

    @Test("Before any answer nothing is known")
    func silence() {
        #expect(DNSRung.report(NameFindings(name: "api.test"), family: .ipv4).status == .unknown)
    }

    @Test("The system's answer outweighs servers that fail, and each is shown")
    func answers() throws {
        let address = try address("198.51.100.2")
        let findings = NameFindings(
            name: "api.test", system: .success([address]),
            servers: [
                Self.resolver(.timedOut), Self.resolver(Self.good, try TidegateReachabilityTests.address("10.0.0.9")),
            ])
        let report = DNSRung.report(findings, family: .ipv4)
        #expect(report.status == .ok && report.reason == nil)
        #expect(
            report.evidence == [
                "api.test is 198.51.100.2", "resolver 10.0.0.1: A no answer in time",
                "resolver 10.0.0.9: A 198.51.100.2, TTL 60 s",
            ])
        let other = DNSRung.report(findings, family: .ipv6)
        #expect(other.status == .notApplicable && other.evidence.first == "api.test has no IPv6 address")
    }

    @Test("A server's answer is enough if the system's is late")
    func late() throws {
        let findings = NameFindings(name: "api.test", servers: [Self.resolver(Self.good)])
        #expect(DNSRung.report(findings, family: .ipv4).status == .ok)
    }

    @Test("A stub at whose port nothing listens is this host's own")
    func stub() throws {
        let stub = Self.resolver(.refused, try address("127.0.0.53"))
        let report = DNSRung.report(NameFindings(name: "api.test", servers: [stub]), family: .ipv4)
        #expect(report.reason == .resolverFailed)
        #expect(
            report.evidence == [
                "resolver 127.0.0.53: A nothing listens at port 53, on this host itself (ECONNREFUSED)"
            ])
    }

    @Test("Resolvers alone: one that answers anything is enough")
    func condition() {
        let answering = Self.resolver(nil, control: .nameNotFound)
        #expect(DNSRung.report(resolvers: [Self.resolver(nil, control: .timedOut), answering]).status == .ok)
        #expect(DNSRung.report(resolvers: [Self.resolver(nil, control: .timedOut)]).reason == .resolverTimeout)
        #expect(DNSRung.report(resolvers: [Self.resolver(nil, Self.noRoute)]).reason == .resolverNoRoute)
    }

    @Test("A resolver that is late is slow, not dead: the rung is ok, and says after how long it answers")
    func slow() throws {
        var (slow, fast) = (Self.resolver(Self.good), Self.resolver(Self.good, try address("10.0.0.9")))
        (slow.delay, fast.delay) = (.milliseconds(1_500), .milliseconds(999))
        let report = DNSRung.report(NameFindings(name: "api.test", servers: [slow]), family: .ipv4)
        #expect(report.status == .ok && report.values.duration == .milliseconds(1_500))
        #expect(report.evidence.dropFirst().first == "resolver 10.0.0.1: answers after 1.5 s")
        let both = DNSRung.report(resolvers: [slow, fast])
        #expect(both.status == .ok && both.values.duration == .milliseconds(999))
        #expect(both.evidence.filter { $0.contains("answers after") } == ["resolver 10.0.0.1: answers after 1.5 s"])
    }

    @Test("The first answer of a resolver says how slow it is, and no failure does")
    func delay() {
        var server = Self.resolver(nil)
        let start = MonotonicTime(nanoseconds: 0)
        for (milliseconds, outcome) in [
            (100, DNSOutcome.failed(code: "SERVFAIL")), (1_500, .noData), (1_600, Self.good),
        ] {
            server.record(outcome, sent: start, at: start + .milliseconds(milliseconds))
        }
        #expect(server.delay == .milliseconds(1_500))
    }

    @Test(
        "The resolvers' silence has another reason once nothing gets past the gateway, or past one router",
        arguments: [
            (["10.0.0.1"], ["10.0.0.1"], true), (["10.0.0.1"], [], true),
            (["10.0.0.1", "192.0.2.1"], ["10.0.0.1"], false),
            (["10.0.0.1", "192.0.2.1"], ["10.0.0.1", "192.0.2.1"], true), ([], [], false),
            (["10.0.0.1", "203.0.113.53"], ["10.0.0.1"], false), (["10.0.0.1"], ["10.0.0.1", "198.51.100.1"], false),
        ] as [([String], [String], Bool)])
    func explained(_ toServer: [String], _ toSentinel: [String], _ isExplained: Bool) throws {
        let (server, sentinel) = (try address("203.0.113.53"), try address("198.51.100.1"))
        func walk(_ destination: IPAddress, _ routers: [String]) throws -> HopWalkResult {
            HopWalkResult(
                destination: destination, port: 53,
                hops: try routers.map { router in
                    let place = try address(router)
                    if place == destination { return .reached(.refused, after: .milliseconds(1)) }
                    return .answered(ICMPError(offender: place, type: 11, code: 0), by: place, after: .milliseconds(1))
                })
        }
        let gateway = Self.server
        var findings = NameFindings(name: "api.test")
        let path = NetworkPath(interface: "eth0", index: 77, gateway: gateway)
        findings.servers = [Self.resolver(nil, control: nil, Verdict(level: .routed, path: path), server)]
        findings.gateways = [gateway: GatewayFindings()]
        findings.walks = [server: try walk(server, toServer), sentinel: try walk(sentinel, toSentinel)]
        #expect(findings.isSilenceExplained == isExplained)
    }

    @Test("A server that denies the name is believed only if it knows other names")
    func belief() throws {
        func cause(_ control: DNSOutcome) throws -> Cause {
            var findings = LadderFindings(target: try ExplainTarget("x.test"), families: [.ipv4])
            let path = NetworkPath(interface: "eth0", index: 77, gateway: Self.server)
            let server = Self.resolver(.nameNotFound, control: control, Verdict(level: .routed, path: path))
            findings.name = NameFindings(name: "x.test", servers: [server])
            let report = RungReport(rung: .dns, status: .bad, reason: .nameNotFound)
            return CauseFinder(findings: findings, path: nil).cause(of: report).cause
        }
        #expect(try cause(Self.good).party == .mine)
        #expect(try cause(.nameNotFound).party == .resolver)
    }
}
