internal import Testing
internal import TidegateCore

@testable internal import TidegateReachability

/// What the advice says, and whose failure it names.
struct LadderAdviceTests {
    private func context() throws -> Advice.Context {
        var context = Advice.Context(target: try Target("api.test:443"))
        context.link = "eth0"
        context.gateway = try address("10.0.0.1")
        context.resolver = try address("10.0.0.3")
        return context
    }

    @Test("Every reason has a useful sentence of its own")
    func complete() throws {
        var seen: [String: UnreachableReason] = [:]
        for reason in UnreachableReason.allCases {
            let sentence = Advice.sentence(for: reason, on: reason.rung, try self.context())
            #expect(seen[sentence] == nil, "\(reason) and \(seen[sentence]?.rawValue ?? "") say the same")
            seen[sentence] = reason
            #expect(sentence.hasSuffix(".") && !sentence.dropLast().contains(". "), "one sentence: \(sentence)")
            #expect(sentence.first?.isUppercase == true && (20...140).contains(sentence.count), "\(sentence)")
        }
    }

    @Test("Sentences name what they are about")
    func names() throws {
        let context = try self.context()
        #expect(
            Advice.sentence(for: .noCarrier, on: .carrier, context)
                == "Plug in the cable of eth0, or bring up another link with a default route.")
        #expect(Advice.sentence(for: .gatewayUnresolved, on: .gateway, context).contains("10.0.0.1"))
        #expect(Advice.sentence(for: .resolverTimeout, on: .dns, context).contains("10.0.0.3"))
        #expect(Advice.sentence(for: .refused, on: .tcp, context).contains("api.test:443"))
    }

    @Test("A live default that a dead one hides is offered as a way out")
    func liveAlternative() throws {
        var context = try self.context()
        context.liveAlternative = "wwan0"
        #expect(
            Advice.sentence(for: .noCarrier, on: .carrier, context)
                == "Plug in the cable of eth0, or let the default route of wwan0 take over: "
                + "sysctl -w net.ipv4.conf.eth0.ignore_routes_with_linkdown=1.")
    }

    @Test("A resolver whose port is closed, and a name without a record, have sentences of their own")
    func resolvers() throws {
        var context = try self.context()
        context.isResolverPortClosed = true
        #expect(
            Advice.sentence(for: .resolverFailed, on: .dns, context)
                == "Start the name server on the resolver 10.0.0.3, or configure another in /etc/resolv.conf: "
                + "nothing listens there.")
        context.missingRecord = "IPv6 address"
        #expect(
            Advice.sentence(for: .nameNotFound, on: .dns, context)
                == "Add an IPv6 address to the zone of api.test: the name exists and has none.")
    }

    @Test("A time-out says on which rung it was")
    func timeouts() throws {
        let context = try self.context()
        let sentences = [Rung.tcp, .tls, .http].map { Advice.sentence(for: .timeout, on: $0, context) }
        #expect(Set(sentences).count == 3)
    }

    @Test("Details change the sentence: a resolver of this host, a portal's page, a status")
    func details() throws {
        var context = try self.context()
        context.localResolver = try address("127.0.0.53")
        #expect(Advice.sentence(for: .resolverFailed, on: .dns, context).contains("nothing listens at 127.0.0.53"))
        context.portal = "http://portal.test/login"
        #expect(Advice.sentence(for: .portal, on: .internet, context).contains("open http://portal.test/login"))
        var sentences: Set<String> = []
        for status in [407, 401, 404, 429, 418, 503, nil] as [Int?] {
            context.status = status
            sentences.insert(Advice.sentence(for: .httpError, on: .http, context))
        }
        #expect(sentences.count == 7)
    }

    // MARK: Parties

    private static let own = IPAddress(ipv4: 0x0A00_0002)
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)
    private static let far = IPAddress(ipv4: 0xC633_6401)
    private static let server = IPAddress(ipv4: 0xC633_6402)

    private static func icmp(_ offender: IPAddress?, _ code: UInt8) -> ICMPError {
        ICMPError(offender: offender, type: 3, code: code)
    }

    private func party(_ reason: UnreachableReason, _ refusal: ICMPError?, gateway: IPAddress?) throws -> FaultParty {
        let server = try address("198.51.100.2")
        var way = PathFindings(subject: .target(server))
        way.verdict = Verdict(
            level: .routed, path: NetworkPath(interface: "eth0", index: 77, gateway: gateway, source: Self.own))
        way.web = [server: HTTPCheck.Result(reached: nil, failure: .connectFailed, refusal: refusal)]
        let report = RungReport(rung: .tcp, status: .bad, reason: reason)
        return PartyClassifier.party(of: report, way, isNameWrong: true)
    }

    @Test(
        "The table of measured socket errors",
        arguments: [
            (UnreachableReason.refused, nil, FaultParty.theirs),
            (.refused, icmp(own, 3), .mine),
            (.hostUnreachable, icmp(own, 13), .mine),
            (.hostUnreachable, icmp(own, 1), .gateway),
            (.hostUnreachable, icmp(nil, 1), .gateway),
            (.hostUnreachable, icmp(gateway, 0), .upstream),
            (.hostUnreachable, icmp(gateway, 1), .theirs),
            (.hostUnreachable, icmp(gateway, 13), .gateway),
            (.hostUnreachable, icmp(far, 0), .upstream),
            (.hostUnreachable, icmp(own, 0), .mine),
            (.hostUnreachable, icmp(server, 13), .theirs),
            (.refused, icmp(gateway, 3), .gateway),
            (.hostUnreachable, icmp(far, 1), .theirs),
            (.hostUnreachable, icmp(far, 13), .path),
            (.hostUnreachable, nil, .path),
            (.timeout, nil, .unknown),
        ] as [(UnreachableReason, ICMPError?, FaultParty)])
    func offenders(_ reason: UnreachableReason, _ refusal: ICMPError?, _ expected: FaultParty) throws {
        #expect(try self.party(reason, refusal, gateway: Self.gateway) == expected)
    }

    @Test("A neighbour that is not found is theirs where there is no gateway between")
    func onLink() throws {
        #expect(try self.party(.hostUnreachable, Self.icmp(Self.own, 1), gateway: nil) == .theirs)
    }

    @Test(
        "Every other reason has its party",
        arguments: [
            (UnreachableReason.noCarrier, FaultParty.mine), (.noRoute, .mine), (.prohibited, .mine),
            (.monitorDown, .mine),
            (.gatewaySilent, .gateway), (.resolverNoRoute, .mine), (.resolverTimeout, .resolver),
            (.resolverFailed, .resolver), (.nameNotFound, .theirs), (.portal, .upstream), (.limited, .upstream),
            (.tlsFailed, .theirs),
        ])
    func parties(_ reason: UnreachableReason, _ expected: FaultParty) {
        let report = RungReport(rung: reason.rung, status: .bad, reason: reason)
        #expect(PartyClassifier.party(of: report, nil, isNameWrong: true) == expected)
    }

    @Test("A name that a doubtful resolver does not know is the resolver's")
    func doubtful() {
        let report = RungReport(rung: .dns, status: .bad, reason: .nameNotFound)
        #expect(PartyClassifier.party(of: report, nil, isNameWrong: false) == .resolver)
    }
}
