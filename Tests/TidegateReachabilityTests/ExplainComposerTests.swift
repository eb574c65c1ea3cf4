internal import Glibc
internal import Testing
internal import TidegateAttribution
@testable internal import TidegateCore
@testable internal import TidegateNetwork

@testable internal import TidegateReachability

/// How an explanation is composed from findings.
struct ExplainComposerTests {
    private static let own4 = IPAddress(ipv4: 0x0A00_0002)
    private static let gateway4 = IPAddress(ipv4: 0x0A00_0001)
    private static let server4 = IPAddress(ipv4: 0xC633_6402)
    private static let eth0 = Link(
        name: "eth0", index: 77, kind: .ethernet, isAdminUp: true, hasCarrier: true, operState: .up, reason: nil,
        usableFamilies: [.ipv4])

    private static func way(_ address: IPAddress, _ verdict: Verdict? = nil, _ answer: HTTPCheck.Result? = nil)
        -> PathFindings
    {
        var way = PathFindings(subject: .target(address), addresses: [address])
        let path = NetworkPath(interface: "eth0", index: 77, gateway: self.gateway4, source: self.own4, table: 254)
        way.verdict = verdict ?? Verdict(level: .routed, path: path)
        way.gateway.neighbour = KernelNeighbour(address: self.gateway4, link: 77, state: .reachable)
        if let answer { way.web = [address: answer] }
        return way
    }

    private func findings(
        _ text: String, _ ways: [AddressFamily: PathFindings], name: NameFindings? = nil, links: [Link] = [eth0]
    ) throws -> LadderFindings {
        var findings = LadderFindings(target: try ExplainTarget(text), families: AddressFamily.allCases)
        findings.links = links
        findings.paths = ways
        findings.name = name
        return findings
    }

    private func name(_ addresses: [IPAddress]) -> NameFindings {
        NameFindings(name: "api.test", system: .success(addresses))
    }

    private func server6() throws -> IPAddress { try address("2001:db8::2") }

    private let noIPv6 = Verdict(level: .none, reason: .noAddress)

    @Test("A target that answers over one family has no failure, whatever the other one lacks")
    func reached() throws {
        let answer = HTTPCheck.Result(reached: .response, status: 200)
        let explanation = ExplanationComposer.compose(
            try self.findings(
                "https://api.test/",
                [.ipv4: Self.way(Self.server4, nil, answer), .ipv6: Self.way(try self.server6(), self.noIPv6)],
                name: self.name([Self.server4, try self.server6()])))
        #expect(explanation.firstFailure == nil && explanation.party == nil)
        #expect(explanation.ladders.map(\.firstFailure?.rung) == [nil, .address])
        #expect(explanation.ladders[0].rungs.map(\.rung) == Rung.allCases)
        #expect(explanation.conclusion == .worksBut && explanation.findings == ["IPv6 does not work: no address"])
    }

    /// Packets that a diagnosis did not send, because socket(2) or open(2) failed with EMFILE or ENFILE.
    private enum Unsent: CaseIterable {
        case target, walk, gateway, query, resolverSettings
    }

    @Test(
        "A packet without a descriptor leaves everything undecided, and this host responsible",
        arguments: Unsent.allCases)
    private func unsent(_ packet: Unsent) throws {
        var path = Self.way(Self.server4, nil, HTTPCheck.Result(reached: nil, failure: .timedOut))
        var name = self.name([Self.server4])
        let resolver = ResolverFindings(server: Self.gateway4, verdict: path.verdict, answers: [.a: .timedOut])
        name.servers = [resolver]
        path.gateway.udpProbe = .silent
        path.gateway.probedAgo = .seconds(2)
        let target = "https://api.test/"
        let broken = ExplanationComposer.compose(try self.findings(target, [.ipv4: path], name: name))
        #expect(broken.conclusion == .broken && broken.party != .mine)
        switch packet {
        case .target:
            path.web = [Self.server4: HTTPCheck.Result(reached: nil, failure: .connectFailed)]
            path.web[Self.server4]?.socketError = .noResources
        case .walk:
            path.walk = HopWalkResult(destination: Self.server4, port: 443, hops: [.failed(ENFILE)])
        case .gateway: path.gateway.udpProbe = .failed(EMFILE)
        case .query: name.servers[0].answers = [.a: .failed(code: "EMFILE")]
        case .resolverSettings: (name.isUnread, name.servers) = (true, [])
        }
        let findings = try self.findings(target, [.ipv4: path], name: name)
        let lacking = ExplanationComposer.compose(findings)
        #expect(lacking.conclusion == .notChecked && lacking.firstFailure == nil)
        #expect(lacking.cause == .thisHost(.noDescriptor) && lacking.party == .mine)
        #expect(lacking.advice == "Raise LimitNOFILE= in the unit, or ulimit -n.")
        #expect(HostFindings(findings).proof.evidence.isEmpty)
    }

    @Test("A missing descriptor hides neither an answer nor what the kernel reports")
    func knownWithoutDescriptor() throws {
        let answer = HTTPCheck.Result(reached: .response, status: 200)
        var path = Self.way(Self.server4, nil, answer)
        path.gateway.udpProbe = .failed(EMFILE)
        let reached = ExplanationComposer.compose(
            try self.findings("https://api.test/", [.ipv4: path], name: self.name([Self.server4])))
        #expect(reached.conclusion == .works)
        var lost = Self.way(Self.server4, Verdict(level: .none, reason: .noCarrier))
        lost.gateway.udpProbe = .failed(EMFILE)
        let cable = ExplanationComposer.compose(
            try self.findings("https://api.test/", [.ipv4: lost], name: self.name([Self.server4])))
        #expect(cable.conclusion == .broken && cable.firstFailure?.rung == .carrier)
    }

    @Test("A resolver that is slow is worth knowing about a target that works", arguments: [1, 2])
    func slowResolver(_ count: Int) throws {
        let answer = HTTPCheck.Result(reached: .response, status: 200)
        var name = self.name([Self.server4])
        name.servers = (1...UInt32(count)).map { number in
            ResolverFindings(
                server: IPAddress(ipv4: 0x0A00_0000 + number), verdict: Verdict(level: .routed),
                answers: [.a: .answered([Self.server4], timeToLive: .seconds(60))],
                delay: number == 1 ? .milliseconds(1_510) : .milliseconds(20))
        }
        let explanation = ExplanationComposer.compose(
            try self.findings("https://api.test/", [.ipv4: Self.way(Self.server4, nil, answer)], name: name))
        let place = count == 1 ? "the name server" : "the first name server"
        #expect(explanation.conclusion == .worksBut && explanation.party == nil)
        #expect(explanation.findings == ["\(place) 10.0.0.1 answers after 1.5 s, which delays every lookup"])
    }

    @Test("The failure that matters is that of the family that got furthest")
    func furthest() throws {
        let refused = HTTPCheck.Result(reached: nil, failure: .connectFailed, socketError: .refused)
        let explanation = ExplanationComposer.compose(
            try self.findings(
                "api.test:80",
                [.ipv4: Self.way(Self.server4, nil, refused), .ipv6: Self.way(try self.server6(), self.noIPv6)],
                name: self.name([Self.server4, try self.server6()])))
        #expect(explanation.firstFailure?.rung == .tcp && explanation.firstFailure?.reason == .refused)
        #expect(explanation.party == .theirs)
        #expect(explanation.advice.hasPrefix("Start the service on api.test:80"))
    }

    @Test("A resolver that both families ask is silent because of the gateway that leads to it")
    func sharedResolver() throws {
        func out(_ sentinel: IPAddress, via gateway: IPAddress) -> PathFindings {
            var path = PathFindings(subject: .sentinel(sentinel))
            path.verdict = Verdict(
                level: .routed, path: NetworkPath(interface: "eth0", index: 77, gateway: gateway, source: Self.own4))
            path.gateway.neighbour = KernelNeighbour(address: gateway, link: 77, state: .reachable)
            return path
        }
        var dead = out(Self.server4, via: Self.gateway4)
        dead.gateway.neighbour = KernelNeighbour(address: Self.gateway4, link: 77, state: .failed)
        var resolver = ResolverFindings(server: Self.server4, verdict: dead.verdict)
        resolver.control = .timedOut
        var findings = LadderFindings(target: .internet, families: AddressFamily.allCases)
        findings.links = [Self.eth0]
        findings.paths = [.ipv4: dead, .ipv6: out(try self.server6(), via: try address("2001:db8::1"))]
        findings.name = NameFindings(name: "control.test", servers: [resolver])
        let explanation = ExplanationComposer.compose(findings)
        #expect(explanation.ladders.map(\.cause?.party) == [.gateway, .unknown])
        #expect(explanation.party == .gateway && explanation.firstFailure?.rung == .gateway)
    }

    @Test("A family that the name has no address in does not count")
    func otherFamily() throws {
        var sentinel = PathFindings(subject: .sentinel(try self.server6()))
        sentinel.verdict = Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 77))
        let noCarrier = Verdict(level: .none, reason: .noRoute)
        let explanation = ExplanationComposer.compose(
            try self.findings(
                "api.test", [.ipv4: Self.way(Self.server4, noCarrier), .ipv6: sentinel], name: self.name([Self.server4])
            ))
        #expect(explanation.firstFailure?.reason == .noRoute && explanation.party == .mine)
        let dns = explanation.ladders[1].rungs.first { $0.rung == .dns }
        #expect(dns?.status == .notApplicable)
    }

    @Test("Rungs above the first bad one are not checked, unless their state is known anyway")
    func above() throws {
        var down = Self.eth0
        (down.hasCarrier, down.operState, down.reason) = (false, .down, .noCarrier)
        let verdict = Verdict(level: .none, reason: .noCarrier)
        let explanation = ExplanationComposer.compose(
            try self.findings(
                "https://api.test/", [.ipv4: Self.way(Self.server4, verdict)], name: self.name([Self.server4]),
                links: [down]))
        let rungs = explanation.ladders[0].rungs
        #expect(
            rungs.map(\.status) == [
                .ok, .ok, .bad, .unknown, .unknown, .unknown, .ok, .unknown, .unknown, .unknown, .unknown,
            ])
        #expect(rungs[2].link == "eth0")
        #expect(rungs[2].evidence == ["eth0 has no carrier", "eth0: no carrier, operstate down"])
        #expect(rungs[8].evidence == ["not tried: carrier failed"])
        #expect(explanation.advice.hasPrefix("Plug in the cable of eth0"))
    }

    @Test("A gateway that seems dead is good once a connection through it has succeeded")
    func throughTheGateway() throws {
        var way = Self.way(Self.server4, nil, HTTPCheck.Result(reached: .connect))
        way.gateway.neighbour?.state = .failed
        let answered = ExplanationComposer.compose(try self.findings("198.51.100.2:80", [.ipv4: way]))
        #expect(answered.ladders[0].rungs[5].status == .ok && answered.firstFailure == nil)
        way.web = [Self.server4: HTTPCheck.Result(reached: nil, failure: .timedOut)]
        let silent = ExplanationComposer.compose(try self.findings("198.51.100.2:80", [.ipv4: way]))
        #expect(silent.firstFailure?.reason == .gatewayUnresolved && silent.party == .gateway)
        let refusal = ICMPError(offender: IPAddress(ipv4: 0xC633_6401), type: 3, code: 1)
        way.web = [Self.server4: HTTPCheck.Result(reached: nil, failure: .connectFailed, refusal: refusal)]
        let refused = ExplanationComposer.compose(try self.findings("198.51.100.2:80", [.ipv4: way]))
        #expect(refused.firstFailure?.rung == .tcp && refused.party == .theirs, "an ICMP error came back through it")
    }

    @Test("A monitor that cannot read the kernel is the first failure; what is known without it is shown")
    func unavailable() throws {
        var findings = try self.findings("api.test:80", [:], name: self.name([Self.server4]), links: [])
        findings.unavailableReason = "opening a route netlink socket: Permission denied"
        var way = PathFindings(subject: .target(Self.server4))
        way.web = [Self.server4: HTTPCheck.Result(reached: .connect)]
        findings.paths[.ipv4] = way
        let explanation = ExplanationComposer.compose(findings)
        #expect(explanation.ladders[0].firstFailure?.reason == .monitorDown)
        #expect(explanation.firstFailure == nil, "the target answers all the same")
        findings.paths[.ipv4]?.web = [:]
        let unreached = ExplanationComposer.compose(findings)
        #expect(unreached.firstFailure?.rung == .monitor && unreached.party == .mine)
    }

    @Test("A target that refuses has answered: failing internet checks do not explain that", arguments: [true, false])
    func refusedWithoutInternet(isThisHost: Bool) throws {
        let refused = HTTPCheck.Result(reached: nil, failure: .connectFailed, socketError: .refused)
        var way = Self.way(Self.server4, nil, refused)
        if isThisHost { way.verdict.notes = [.thisHost] }
        let url = try InternetCheckURL("http://check.test/")
        way.internet = [InternetObservation(url: url, finding: .silent, evidence: "no answer")]
        let explanation = ExplanationComposer.compose(try self.findings("198.51.100.2:81", [.ipv4: way]))
        #expect(explanation.firstFailure?.rung == .tcp)
        #expect(explanation.party == (isThisHost ? .mine : .theirs))
    }

    private static let timedOut = HTTPCheck.Result(reached: nil, failure: .timedOut)

    private static func checks(_ findings: InternetObservation.Finding...) throws -> [InternetObservation] {
        try findings.enumerated().map { number, finding in
            InternetObservation(
                url: try InternetCheckURL("http://check\(number).test/"), finding: finding, evidence: "as it answers")
        }
    }

    @Test("The internet is not on the way to a hung host of the own link, whatever internet checks say")
    func hungOnLink() throws {
        var way = Self.way(Self.server4, nil, Self.timedOut)
        way.verdict.path?.gateway = nil
        way.internet = try Self.checks(.silent, .silent)
        let explanation = ExplanationComposer.compose(try self.findings("198.51.100.2:8080", [.ipv4: way]))
        #expect(explanation.firstFailure?.rung == .tcp && explanation.party == .theirs, "\(explanation)")
    }

    @Test(
        "The check of one server convicts no network; those of two do, or that of one and a silent target",
        arguments: [(1, false, FaultParty.unknown), (2, false, .upstream), (1, true, .upstream)])
    func oneCheck(_ count: Int, _ isTargetSilent: Bool, _ party: FaultParty) throws {
        var way = Self.way(Self.server4, nil, isTargetSilent ? Self.timedOut : nil)
        (way.gateway.udpProbe, way.gateway.probedAgo) = (.answered, .seconds(1))
        way.internet = Array(try Self.checks(.silent, .silent).prefix(count))
        let explanation = ExplanationComposer.compose(try self.findings("198.51.100.2:80", [.ipv4: way]))
        #expect(explanation.party == party && explanation.firstFailure?.rung == .internet, "\(explanation)")
    }

    @Test(
        "Where a name that does not exist has the target's address as well, a captive portal answers, whatever it says",
        arguments: [
            HTTPCheck.Result(reached: .response, status: 200), HTTPCheck.Result(reached: .connect, failure: .reset),
        ])
    func diverted(_ answer: HTTPCheck.Result) throws {
        var name = self.name([Self.gateway4])
        let way = Self.way(Self.gateway4, nil, answer)
        name.servers = [ResolverFindings(server: Self.gateway4, verdict: way.verdict)]
        for (unrelated, isPortal) in [(Self.gateway4, true), (Self.server4, false)] {
            name.servers[0].unrelated = .answered([unrelated], timeToLive: .seconds(1))
            let explanation = ExplanationComposer.compose(
                try self.findings("http://api.test/", [.ipv4: way], name: name))
            #expect((explanation.cause == .provider(.portal(location: nil))) == isPortal, "\(explanation)")
        }
    }

    @Test(
        "A search list that delays programs is a finding", arguments: [(250, 5, true), (1, 5, false), (250, 0, false)])
    func search(_ milliseconds: Int, _ searched: Int, _ isFinding: Bool) throws {
        var name = self.name([Self.server4])
        let way = Self.way(Self.server4, nil, HTTPCheck.Result(reached: .response, status: 200))
        name.servers = [
            ResolverFindings(server: Self.server4, verdict: way.verdict, delay: .milliseconds(milliseconds))
        ]
        name.searched = searched
        let found = ExplanationComposer.compose(try self.findings("http://api.test/", [.ipv4: way], name: name))
            .findings
        #expect(found.contains { $0.contains("ndots") && $0.contains("1.3 s") } == isFinding, "\(found)")
    }

    @Test("A resolver of this host: silent, silent about one name, or beside the server that it asks")
    func ownResolver() throws {
        let stub = IPAddress(ipv4: 0x7F00_0035)
        let answer = DNSOutcome.answered([Self.server4], timeToLive: .seconds(1))
        func cause(
            _ control: DNSOutcome, upstream: DNSOutcome?, _ answers: [DNSQuestion.RecordType: DNSOutcome] = [:]
        ) throws -> Cause? {
            var name = NameFindings(name: "api.test")
            let verdict = Verdict(level: .routed, path: NetworkPath(interface: "lo", index: 1), notes: [.thisHost])
            name.servers = [
                ResolverFindings(server: stub, verdict: verdict, answers: [.a: .timedOut], control: control)
            ]
            if let upstream {
                let way = Self.way(Self.server4).verdict
                name.upstreams = [
                    ResolverFindings(server: Self.server4, verdict: way, answers: answers, control: upstream)
                ]
            }
            var way = Self.way(Self.server4)
            way.subject = .sentinel(Self.server4)
            return ExplanationComposer.compose(try self.findings("http://api.test/", [.ipv4: way], name: name)).cause
        }
        #expect(try cause(.timedOut, upstream: answer) == .resolver(.silent([stub])))
        #expect(try cause(.timedOut, upstream: .timedOut)?.party != .mine, "the server that it asks is silent as well")
        let zone = try cause(answer, upstream: answer, [.a: .failed(code: "SERVFAIL")])
        #expect(zone == .resolver(.fails(Self.server4, code: "SERVFAIL")) && zone?.party == .resolver, "a broken zone")
        #expect(try cause(answer, upstream: nil) == .resolver(.silentAbout(stub, name: "api.test")))
    }

    @Test("A check URL that answers something else is a finding, and no outage")
    func wrongCheck() throws {
        var name = NameFindings(name: "a.root-servers.net")
        let answer = DNSOutcome.answered([Self.server4], timeToLive: .seconds(5))
        name.servers = [
            ResolverFindings(server: Self.server4, verdict: Self.way(Self.server4).verdict, control: answer)
        ]
        var way = Self.way(Self.server4)
        (way.subject, way.internet) = (.sentinel(Self.server4), try Self.checks(.unexpected))
        var findings = LadderFindings(target: .internet, families: [.ipv4])
        (findings.links, findings.paths, findings.name) = ([Self.eth0], [.ipv4: way], name)
        let explanation = ExplanationComposer.compose(findings)
        #expect(explanation.conclusion == .worksBut && explanation.party == nil, "\(explanation)")
        #expect(explanation.findings.first?.hasSuffix("as it answers") == true, "\(explanation.findings)")
    }

    @Test("A check URL without an address of the family says nothing of it")
    func absentCheck() throws {
        var way = Self.way(Self.server4)
        (way.subject, way.internet) = (.sentinel(Self.server4), try Self.checks(.absent))
        way.walk = HopWalkResult(
            destination: Self.server4, port: 53, hops: [.silent, .reached(.refused, after: .milliseconds(1))])
        var findings = LadderFindings(target: .internet, families: [.ipv4])
        (findings.links, findings.paths, findings.name) = ([Self.eth0], [.ipv4: way], NameFindings(name: "a.test"))
        let ladder = LadderComposer(findings: findings, family: .ipv4).ladder
        let report = try #require(ladder.rungs.first { $0.rung == .internet })
        #expect(report.status == .ok && !report.text.contains("could be requested"), "\(report)")
    }

    @Test("Where UDP leaves this host and TCP does not, its own firewall may be why")
    func lostTCP() throws {
        var way = Self.way(Self.server4, nil, Self.timedOut)
        way.walk = HopWalkResult(
            destination: Self.server4, port: 80,
            hops: [.silent, .reached(.unreachable(ICMPError(offender: Self.server4, type: 3, code: 3)), after: .zero)])
        let dropped = ExplanationComposer.compose(try self.findings("198.51.100.2:80", [.ipv4: way]))
        #expect(dropped.party == .theirs, "\(dropped)")
        way.walk?.isTCPLost = true
        let explanation = ExplanationComposer.compose(try self.findings("198.51.100.2:80", [.ipv4: way]))
        #expect(explanation.party == .unknown && explanation.advice.contains("nft list ruleset"), "\(explanation)")
    }

    @Test("A name query that a filter of this host drops is this host's")
    func filteredQuery() throws {
        var way = Self.way(Self.gateway4)
        way.subject = .resolver(Self.server4)
        var name = NameFindings(name: "api.test", system: .failure(.timedOut))
        name.servers = [
            ResolverFindings(server: Self.server4, verdict: way.verdict, answers: [.a: .unreachable(nil)])
        ]
        name.walks[Self.server4] = HopWalkResult(destination: Self.server4, port: 53, hops: [.failed(1), .failed(1)])
        let explanation = ExplanationComposer.compose(
            try self.findings("http://api.test/", [.ipv4: way], name: name))
        #expect(explanation.party == .mine && explanation.advice.contains("nft list ruleset"), "\(explanation)")
    }

    @Test("Behind a portal a connection proves nothing")
    func portalConnection() throws {
        var way = Self.way(Self.server4, nil, HTTPCheck.Result(reached: .connect))
        way.internet = try Self.checks(.portal(location: nil))
        let explanation = ExplanationComposer.compose(try self.findings("198.51.100.2:22", [.ipv4: way]))
        #expect(explanation.conclusion == .broken && explanation.firstFailure?.reason == .portal, "\(explanation)")
    }

    @Test("Behind a portal an answer over http proves nothing")
    func portal() throws {
        var way = Self.way(Self.server4, nil, HTTPCheck.Result(reached: .response, status: 200))
        let url = try InternetCheckURL("http://check.test/204")
        way.internet = [
            InternetObservation(url: url, finding: .portal(location: "http://portal.test/"), evidence: "302")
        ]
        let explanation = ExplanationComposer.compose(
            try self.findings("http://api.test/", [.ipv4: way], name: self.name([Self.server4])))
        #expect(explanation.firstFailure?.rung == .internet && explanation.firstFailure?.reason == .portal)
        #expect(explanation.ladders[0].rungs.last?.status == .unknown)
        #expect(explanation.party == .upstream && explanation.advice.contains("http://portal.test/"))
    }

    @Test("A name that does not exist is the name's fault, and the target's rungs are not checked")
    func name() throws {
        var findings = NameFindings(name: "nope.test", system: .failure(.nameNotFound))
        findings.servers = [
            ResolverFindings(
                server: Self.gateway4, verdict: Self.way(Self.server4).verdict, answers: [.a: .nameNotFound],
                control: .answered([Self.server4], timeToLive: .seconds(5)))
        ]
        var way = Self.way(Self.gateway4)
        way.subject = .resolver(Self.gateway4)
        let explanation = ExplanationComposer.compose(
            try self.findings("nope.test:80", [.ipv4: way, .ipv6: way], name: findings))
        #expect(explanation.firstFailure?.reason == .nameNotFound && explanation.party == .mine)
        #expect(explanation.ladders[0].rungs.first { $0.rung == .route }?.status == .ok)
        #expect(explanation.ladders[0].rungs.first { $0.rung == .tcp }?.status == .unknown)
        #expect(explanation.addresses.isEmpty)
    }

    @Test("Where nothing works, a family without an asked party fails for the same cause")
    func sharedEvidence() throws {
        var name = NameFindings(name: "a.root-servers.net")
        name.servers = [
            ResolverFindings(server: Self.server4, verdict: Self.way(Self.server4).verdict, control: .timedOut)
        ]
        var (way4, way6) = (Self.way(Self.server4), Self.way(try self.server6()))
        (way4.subject, way6.subject) = (.sentinel(Self.server4), .sentinel(try self.server6()))
        way6.verdict.path?.gateway = try address("fe80::1")
        var findings = LadderFindings(target: .internet, families: AddressFamily.allCases)
        (findings.links, findings.paths, findings.name) = ([Self.eth0], [.ipv4: way4, .ipv6: way6], name)
        let host = HostFindings(findings)
        #expect(host.explanation.conclusion == .broken)
        #expect(host.proof.evidence[.ipv4]?.witnesses == [Witness(.resolver, .nothing)])
        #expect(host.proof.evidence[.ipv6] == host.proof.evidence[.ipv4])
    }

    @Test("A name query that this host did not send is its own failure, and no witness of a silence")
    func unsentQuery() throws {
        let verdict = Self.way(Self.server4).verdict
        var (name, way) = (NameFindings(name: "a.root-servers.net"), Self.way(Self.server4))
        way.subject = .sentinel(Self.server4)
        var findings = LadderFindings(target: .internet, families: [.ipv4])
        (findings.links, findings.paths) = ([Self.eth0], [.ipv4: way])
        for (outcome, witnesses) in [(DNSOutcome.unreachable(nil), []), (.timedOut, [Witness(.resolver, .nothing)])] {
            name.servers = [ResolverFindings(server: Self.server4, verdict: verdict, control: outcome)]
            findings.name = name
            let host = HostFindings(findings)
            #expect(host.proof.evidence[.ipv4]?.witnesses == witnesses, "\(outcome)")
            #expect((host.explanation.party == .mine) == witnesses.isEmpty, "\(host.explanation)")
        }
    }

    @Test("A public address that answers proves the way out, and says nothing of another target's host")
    func sentinelIsNoTarget() throws {
        var way = Self.way(Self.server4)
        way.subject = .sentinel(Self.server4)
        way.walk = HopWalkResult(
            destination: Self.server4, port: 33_434, hops: [.silent, .reached(.refused, after: .milliseconds(9))])
        var findings = LadderFindings(target: .internet, families: [.ipv4])
        (findings.links, findings.paths) = ([Self.eth0], [.ipv4: way])
        let host = HostFindings(findings)
        #expect(host.proof.evidence[.ipv4]?.witnesses == [Witness(.hopWalk, .beyond(Self.server4))])
        #expect(host.proof.evidence[.ipv4].map { DecisionTable.cause(of: $0).party } == .path)
    }

    @Test(
        "A resolver that is the gateway says nothing of what is beyond it",
        arguments: [DNSOutcome.timedOut, .failed(code: "SERVFAIL")])
    func forwarder(_ outcome: DNSOutcome) throws {
        var way = Self.way(Self.gateway4)
        (way.subject, way.leadsToGateway) = (.resolver(Self.gateway4), true)
        way.verdict.path?.gateway = nil
        way.walk = HopWalkResult(
            destination: Self.gateway4, port: 53, hops: [.reached(.refused, after: .milliseconds(1))])
        way.sentinelWalk = HopWalkResult(destination: Self.server4, port: 53, hops: [.silent, .silent])
        var name = NameFindings(name: "api.test", system: .failure(.timedOut))
        name.servers = [ResolverFindings(server: Self.gateway4, verdict: way.verdict, answers: [.a: outcome])]
        var findings = try self.findings("api.test:80", [.ipv4: way], name: name)
        findings.families = [.ipv4]
        let explanation = ExplanationComposer.compose(findings)
        #expect(explanation.cause == .provider(.nothingBeyond(gateway: Self.gateway4)), "\(explanation.party as Any)")
        findings.paths[.ipv4]?.sentinelWalk?.hops = [.silent, .reached(.connected, after: .milliseconds(9))]
        #expect(ExplanationComposer.compose(findings).party == .resolver)
    }

    @Test(
        "Without a target, a witness beyond the gateway tells whose failure that of a resolver on the own link is",
        arguments: [DNSOutcome.failed(code: "SERVFAIL"), .failed(code: "REFUSED"), .timedOut, .nameNotFound])
    func hostForwarder(_ outcome: DNSOutcome) throws {
        let target = try address("203.0.113.10")
        var way = Self.way(Self.server4)
        (way.subject, way.addresses) = (.sentinel(Self.server4), [])
        (way.gateway.udpProbe, way.gateway.probedAgo) = (.answered, .seconds(1))
        var onLink = way.verdict
        onLink.path?.gateway = nil
        var findings = LadderFindings(target: .internet, families: [.ipv4])
        findings.links = [Self.eth0]
        findings.name = NameFindings(
            name: "a.root-servers.net",
            servers: [ResolverFindings(server: Self.gateway4, verdict: onLink, control: outcome)])
        func cause(_ answer: HTTPCheck.Result?) -> Cause? {
            way.web = answer.map { [target: $0] } ?? [:]
            findings.paths = [.ipv4: way]
            return ExplanationComposer.compose(findings).cause
        }
        // A network may have no names but its own.
        #expect(cause(nil) == (outcome == .nameNotFound ? nil : .unknown(.forwarder)))
        #expect(cause(Self.timedOut) == .provider(.nothingBeyond(gateway: Self.gateway4)))
        let edge = try address("100.64.0.1")
        let spent = ICMPError(offender: edge, type: 11, code: 0)
        way.walk = HopWalkResult(
            destination: Self.server4, port: 53, hops: [.silent, .answered(spent, by: edge, after: .zero)])
        #expect(cause(Self.timedOut) == .provider(.ends(after: edge)), "no router beyond the gateway is an end")
        way.walk = nil
        #expect(cause(HTTPCheck.Result(reached: .connect))?.party == (outcome == .nameNotFound ? nil : .resolver))
    }

    /// A family's way to the internet as a whole, and how far packets come on it.
    private static func out(_ sentinel: IPAddress, via gateway: IPAddress, _ last: HopWalkResult.Outcome)
        -> PathFindings
    {
        var way = self.way(sentinel)
        (way.subject, way.addresses) = (.sentinel(sentinel), [])
        way.verdict.path?.gateway = gateway
        (way.gateway.udpProbe, way.gateway.probedAgo) = (.answered, .seconds(1))
        way.walk = HopWalkResult(destination: sentinel, port: 53, hops: [.silent, last])
        return way
    }

    private func internet(_ ways: [AddressFamily: PathFindings], _ links: [Link] = [eth0]) -> Explanation {
        var findings = LadderFindings(target: .internet, families: AddressFamily.allCases)
        (findings.links, findings.paths) = (links, ways)
        findings.name = NameFindings(name: "a.root-servers.net")
        return ExplanationComposer.compose(findings)
    }

    @Test(
        "Without a target, a family with a default route that leads nowhere is part of the conclusion",
        arguments: AddressFamily.allCases)
    func deadFamily(_ dead: AddressFamily) throws {
        let reached = HopWalkResult.Outcome.reached(.refused, after: .milliseconds(9))
        let gateway6 = try address("fe80::1")
        let edge = try address(dead == .ipv6 ? "2001:db8:100::1" : "100.64.0.1")
        let noRoute = ICMPError(offender: edge, type: dead == .ipv6 ? 1 : 3, code: 0)
        for end in [HopWalkResult.Outcome.silent, .answered(noRoute, by: edge, after: .zero)] {
            let explanation = self.internet([
                .ipv4: Self.out(Self.server4, via: Self.gateway4, dead == .ipv4 ? end : reached),
                .ipv6: Self.out(try self.server6(), via: gateway6, dead == .ipv6 ? end : reached),
            ])
            #expect(explanation.conclusion == .worksBut && explanation.party == nil, "\(explanation)")
            #expect(explanation.sentence == "Online, but \(dead.name) does not work.")
            #expect(explanation.findings.first?.hasPrefix("\(dead.name) does not work: ") == true)
        }
    }

    @Test("A family without a global address or a default route is no finding of an internet that works")
    func absentFamily() throws {
        let out4 = Self.out(Self.server4, via: Self.gateway4, .reached(.refused, after: .milliseconds(9)))
        var out6 = Self.out(try self.server6(), via: try address("fe80::1"), .silent)
        out6.verdict.notes = [.uniqueLocalSource]
        for reason in [UnreachableReason.linkLocalOnly, .noAddress, .noRoute, nil] {
            let local = Self.way(try self.server6(), Verdict(level: .local, reason: reason))
            let explanation = self.internet([.ipv4: out4, .ipv6: reason == nil ? out6 : local])
            #expect(explanation.sentence == "Online." && explanation.findings.isEmpty, "\(explanation)")
        }
    }

    @Test(
        "A pulled cable counts, and not that another link has only a link-local IPv6 address", arguments: [true, false])
    func linkLocalBeside(isInternet: Bool) throws {
        var down = Self.eth0
        (down.hasCarrier, down.operState, down.reason) = (false, .down, .noCarrier)
        let vpn0 = Link(
            name: "vpn0", index: 78, kind: .tunnel, isAdminUp: true, hasCarrier: true, operState: .unknown, reason: nil,
            usableFamilies: [])
        var way4 = Self.way(Self.server4, Verdict(level: .local, reason: .noCarrier))
        way4.deadLink = 77
        let ways: [AddressFamily: PathFindings] = [
            .ipv4: way4, .ipv6: Self.way(try self.server6(), Verdict(level: .local, reason: .linkLocalOnly)),
        ]
        let explanation =
            isInternet
            ? self.internet(ways, [down, vpn0])
            : ExplanationComposer.compose(
                try self.findings(
                    "api.test:80", ways, name: self.name([Self.server4, try self.server6()]), links: [down, vpn0]))
        #expect(explanation.sentence == "This host: eth0 has no carrier.", "\(explanation)")
        #expect(explanation.advice.hasPrefix("Plug in the cable of eth0"))
    }

    @Test("A link without an address is named where only a bridge of containers has one", arguments: [true, false])
    func noLease(hasLease: Bool) throws {
        var eth0 = Self.eth0
        eth0.usableFamilies = hasLease ? [.ipv4] : []
        let bridge = Link(
            name: "docker0", index: 79, kind: .bridge, isAdminUp: true, hasCarrier: true, operState: .up, reason: nil,
            usableFamilies: [.ipv4])
        var way4 = Self.way(Self.server4, Verdict(level: .local, reason: .noRoute))
        way4.subject = .sentinel(Self.server4)
        let way6 = Self.way(try self.server6(), Verdict(level: .local, reason: .linkLocalOnly))
        let explanation = self.internet([.ipv4: way4, .ipv6: way6], [bridge, eth0])
        let advice =
            hasLease
            ? "Add a default IPv4 route: no route leads out." : "Give eth0 an IPv4 address, or start its DHCP client."
        #expect(explanation.advice == advice, "\(explanation)")
    }

    @Test("What this host's own filter drops is its own failure")
    func filtered() throws {
        var way = Self.way(Self.server4, nil, HTTPCheck.Result(reached: nil, failure: .timedOut))
        way.walk = HopWalkResult(destination: Self.server4, port: 80, hops: [.failed(1), .failed(1)])
        let explanation = ExplanationComposer.compose(try self.findings("198.51.100.2:80", [.ipv4: way]))
        #expect(explanation.cause == .thisHost(.filter(nil)))
        #expect(explanation.advice.contains("nft list ruleset"))
    }

    @Test("If nothing failed and nothing was reached, the party is unknown")
    func untold() throws {
        let pending = NameFindings(name: "api.test")
        var way = Self.way(Self.gateway4)
        way.subject = .sentinel(Self.gateway4)
        for text in ["api.test", "api.test:80"] {
            let explanation = ExplanationComposer.compose(
                try self.findings(text, [.ipv4: way, .ipv6: way], name: pending))
            #expect(explanation.firstFailure == nil && explanation.party == .unknown, "\(text)")
            #expect(explanation.conclusion == .notChecked && explanation.advice.contains("more time"))
        }
        let unasked = try self.findings("198.51.100.2:80", [.ipv4: Self.way(Self.server4)])
        #expect(ExplanationComposer.compose(unasked).party == .unknown)
    }

    @Test("A name without an address of the only wanted family is a failure of the name")
    func onlyFamily() throws {
        var way = Self.way(Self.gateway4)
        way.subject = .sentinel(try self.server6())
        var findings = try self.findings("api.test", [.ipv6: way], name: self.name([Self.server4]))
        findings.families = [.ipv6]
        let explanation = ExplanationComposer.compose(findings)
        #expect(explanation.firstFailure?.reason == .nameNotFound && explanation.party == .mine)
        #expect(explanation.firstFailure?.evidence.first == "api.test has no IPv6 address")
        #expect(explanation.advice.contains("Add an IPv6 address"))
    }

    @Test("The JSON has both families and every rung")
    func json() throws {
        let explanation = ExplanationComposer.compose(
            try self.findings(
                "api.test",
                [.ipv4: Self.way(Self.server4), .ipv6: Self.way(try self.server6(), self.noIPv6)],
                name: self.name([Self.server4])))
        let text = explanation.json.description
        #expect(text.hasPrefix(#"{"schema":1,"target":"api.test","addresses":["198.51.100.2"]"#))
        #expect(text.contains(#""rung":"http","status":"notApplicable","reason":null"#))
    }
}
