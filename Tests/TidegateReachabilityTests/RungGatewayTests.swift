internal import Testing
internal import TidegateCore
@testable internal import TidegateNetwork

@testable internal import TidegateReachability

/// Whether a gateway is there, by its neighbour entry and its answers.
struct RungGatewayTests {
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)
    private static let path = NetworkPath(
        interface: "eth0", index: 77, gateway: gateway, source: IPAddress(ipv4: 0x0A00_0002))
    private static let passive = PassiveFindings(answered: .seconds(3), remote: IPAddress(ipv4: 0x0808_0808))

    private static func findings(
        _ state: KernelNeighbour.State?, _ udpProbe: UDPProbe.Result? = nil, stuck: Bool = false, known: Bool = false,
        confirmed age: Duration? = nil
    ) -> GatewayFindings {
        var findings = GatewayFindings()
        findings.neighbour = state.map {
            KernelNeighbour(address: gateway, link: 77, state: $0, confirmedAge: age)
        }
        findings.udpProbe = udpProbe
        findings.isStuck = stuck
        findings.wasReachable = known
        return findings
    }

    private static let router = ICMPError(offender: IPAddress(ipv4: 0x0A00_0009), type: 3, code: 13)

    @Test(
        "Every state of the neighbour and every result of a UDP probe",
        arguments: [
            (findings(.reachable), RungReport.Status.ok, UnreachableReason?.none),
            (findings(.permanent), .ok, nil),
            (findings(.stale), .ok, nil),
            (findings(.delay), .ok, nil),
            (findings(.probe), .ok, nil),
            (findings(.incomplete), .unknown, nil),
            (findings(KernelNeighbour.State.none), .unknown, nil),
            (findings(nil), .unknown, nil),
            (findings(.failed), .bad, .gatewayUnresolved),
            (findings(.failed, known: true), .bad, .gatewaySilent),
            (findings(.noarp), .notApplicable, nil),
            (findings(.incomplete, stuck: true), .bad, .gatewayUnresolved),
            (findings(.stale, stuck: true, known: true), .bad, .gatewaySilent),
            (findings(nil, .answered), .ok, nil),
            (findings(.failed, .answered, stuck: true), .ok, nil),
            (findings(.reachable, .unresolved(nil)), .ok, nil),
            (findings(.stale, .unresolved(nil)), .bad, .gatewayUnresolved),
            (findings(nil, .unresolved(nil), known: true), .bad, .gatewaySilent),
            (findings(.reachable, .silent), .ok, nil),
            (findings(.incomplete, .silent), .unknown, nil),
            (findings(.stale, .refused(router)), .ok, nil),
            (findings(nil, .failed(1)), .unknown, nil),
        ] as [(GatewayFindings, RungReport.Status, UnreachableReason?)])
    func table(_ findings: GatewayFindings, _ status: RungReport.Status, _ reason: UnreachableReason?) {
        let report = GatewayRung.report(Self.path, findings)
        #expect(report.status == status && report.reason == reason, "\(report)")
        #expect(report.rung == .gateway && !report.evidence.isEmpty)
    }

    @Test("A path without a gateway, and a link without neighbours, need no answer")
    func notApplicable() {
        var path = Self.path
        path.gateway = nil
        let local = GatewayRung.report(path, Self.findings(nil))
        #expect(local.status == .notApplicable && local.evidence == ["on the local network: no gateway needed"])
        var findings = Self.findings(nil)
        findings.resolvesNeighbours = false
        #expect(GatewayRung.report(path, findings).evidence == ["eth0 needs no gateway"])
        let report = GatewayRung.report(Self.path, findings)
        #expect(report.status == .notApplicable && report.evidence == ["eth0 resolves no neighbours (NOARP)"])
    }

    @Test("A gateway that does not answer but forwards is good")
    func traffic() {
        let report = GatewayRung.report(Self.path, Self.findings(.failed), passive: Self.passive)
        #expect(report.status == .ok && report.reason == nil)
        #expect(report.evidence.last == "a request to 8.8.8.8 succeeded 3 s ago, through this gateway")
        let proven = GatewayRung.provenWorking(
            GatewayRung.report(Self.path, Self.findings(.failed)), by: "traffic flows")
        #expect(proven.status == .ok && proven.evidence.last == "traffic flows")
    }

    @Test("Answers to other programs prove that a gateway forwards, and are named where it answers itself, too")
    func otherPrograms() {
        var connections = ConnectionFindings()
        #expect(GatewayRung.report(Self.path, Self.findings(.failed), connections: connections).status == .bad)
        (connections.answering, connections.remote) = (2, IPAddress(ipv4: 0x0808_0808))
        let failed = GatewayRung.report(Self.path, Self.findings(.failed), connections: connections)
        #expect(failed.status == .ok && failed.reason == nil && failed.basis == .implied)
        #expect(failed.evidence.last == "2 remotes behind it answer other programs")
        connections.answering = 1
        let reachable = GatewayRung.report(Self.path, Self.findings(.reachable), connections: connections)
        #expect(reachable.status == .ok && reachable.evidence.last == "1 remote behind it answers other programs")
    }

    @Test("A gateway whose link-layer address stays unknown is absent once the kernel has asked twice, and not before")
    func unanswered() {
        var findings = Self.findings(.incomplete, .silent)
        findings.probedAgo = .milliseconds(1_400)
        #expect(GatewayRung.report(Self.path, findings).status == .unknown)
        #expect(
            findings.evidence(Self.gateway, on: "eth0") == .unconfirmed(Self.gateway, link: "eth0", age: nil),
            "so that silence of everybody behind it is not taken for the provider's")
        findings.probedAgo = .milliseconds(1_500)
        let report = GatewayRung.report(Self.path, findings)
        #expect(report.status == .bad && report.reason == .gatewayUnresolved)
        #expect(report.evidence.last == "its link-layer address is not found: no host has answered for 1.5 s")
        #expect(
            findings.evidence(Self.gateway, on: "eth0") == .unresolved(Self.gateway, link: "eth0", wasReachable: false))
    }

    @Test("A gateway is silent once a SYN and an echo request were not answered either, and answers if one was")
    func questions() {
        var findings = Self.findings(.reachable, .silent, confirmed: .seconds(20))
        findings.probedAgo = .seconds(1)
        #expect(
            findings.evidence(Self.gateway, on: "eth0")
                == .unconfirmed(Self.gateway, link: "eth0", age: .seconds(20)))
        #expect(
            GatewayRung.report(Self.path, findings).evidence.last
                == "a UDP packet to port 9 was not answered, nor were a SYN and an echo request, and it was last "
                + "confirmed 20 s ago")
        findings.firstHop = .milliseconds(1)
        #expect(findings.evidence(Self.gateway, on: "eth0") == .answers(Self.gateway))
        #expect(GatewayRung.report(Self.path, findings).status == .ok)
    }

    @Test("A gateway that the kernel takes for reachable longer than kernels usually do is not convicted")
    func longReachable() {
        var findings = Self.findings(.reachable, .silent, confirmed: .seconds(46))
        findings.probedAgo = .seconds(1)
        #expect(findings.evidence(Self.gateway, on: "eth0") == .confirmed(Self.gateway))
        findings.neighbour = Self.findings(.stale, confirmed: .seconds(46)).neighbour
        #expect(
            findings.evidence(Self.gateway, on: "eth0")
                == .unconfirmed(Self.gateway, link: "eth0", age: .seconds(46)))
    }

    @Test("FAILED stays until REACHABLE, whatever the kernel tries in between")
    func history() {
        var history = NeighbourHistory()
        let key = NeighbourKey(Self.gateway, on: 77)
        func recalled() -> GatewayFindings {
            var findings = GatewayFindings()
            history.recall(key, into: &findings)
            return findings
        }
        history.record(KernelNeighbour(address: Self.gateway, link: 77, state: .stale))
        #expect(!recalled().isStuck && !recalled().wasReachable)
        history.record(KernelNeighbour(address: Self.gateway, link: 77, state: .reachable))
        history.record(KernelNeighbour(address: Self.gateway, link: 77, state: .failed))
        for state in [KernelNeighbour.State.incomplete, .none, .stale, .delay, .probe] {
            history.record(KernelNeighbour(address: Self.gateway, link: 77, state: state))
            #expect(recalled().isStuck, "\(state)")
        }
        #expect(recalled().wasReachable)
        history.record(KernelNeighbour(address: Self.gateway, link: 77, state: .reachable))
        #expect(!recalled().isStuck)
        history = NeighbourHistory()
        #expect(!recalled().wasReachable)
    }

    @Test("The evidence shows the neighbour as ip(8) does")
    func evidence() {
        var findings = Self.findings(.stale, .silent)
        findings.neighbour?.linkLayerAddress = "02:00:00:00:00:01"
        #expect(
            GatewayRung.report(Self.path, findings).evidence == [
                "neighbour 10.0.0.1 dev eth0 lladdr 02:00:00:00:00:01 STALE",
                "a UDP packet to port 9 was not answered",
            ])
    }
}
