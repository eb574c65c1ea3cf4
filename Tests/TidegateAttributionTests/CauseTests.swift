import Testing
import TidegateAttribution
@testable import TidegateCore

/// The text of a cause: the party, the problem, the advice.
@Suite struct CauseTests {
    private static let gateway = IPAddress(ipv4: 0x0A4D_0001)
    private static let target = IPAddress(ipv4: 0xCB00_710A)
    private static let icmp = ICMPError(offender: gateway, type: 3, code: 13)

    private static func kernel(
        _ reason: UnreachableReason, link: String = "uplink", alternative: String? = nil, switchedOff: String? = nil
    ) -> Cause {
        .thisHost(
            .kernel(
                .init(
                    reason: reason, link: link, family: .ipv4, liveAlternative: alternative,
                    linkSwitchedOff: switchedOff)))
    }

    static let reasons: [UnreachableReason] = [
        .monitorDown, .noInterface, .adminDown, .noCarrier, .dormant, .flapping, .lowerLayerDown, .noAddress,
        .linkLocalOnly, .tentative, .dadFailed, .noRoute, .routeUnreachable, .prohibited, .blackholed, .noSourceAddress,
        .noSuchInterface, .notAHost, .resolverNoRoute,
    ]

    private static func causes(
        _ gateway: IPAddress, _ target: IPAddress, link: String, name: String, _ certificate: CertificateSummary? = nil
    ) -> [Cause] {
        let icmp = ICMPError(offender: gateway, type: 3, code: 13)
        return reasons.map { kernel($0, link: link) } + [
            .thisHost(.filter(icmp)), .thisHost(.nothingListens(target, port: 80)),
            .thisHost(.connectionTable(count: 262_144, limit: 262_144)),
            .thisHost(.dropsAnswers(count: 22, from: target)),
            .thisHost(.privateAddress(target, isResolver: false, after: gateway, down: nil)),
            .thisHost(.privateAddress(target, isResolver: true, after: gateway, down: link)),
            .thisHost(.foreignSource(target, link: link, of: link)), .thisHost(.staticNeighbour(gateway, link: link)),
            .thisHost(.reversePathFilter(count: 9, link: link)), .thisHost(.tunnelInItself(link)),
            .thisHost(.frozen(.seconds(9))),
            .thisHost(.silentTranslator(link)), .provider(.silentLine(link)),
            .onTheWay(.silentTunnel(link, over: link)), .onTheWay(.tunnelEnds(link, after: gateway)),
            .thisHost(.nameNotFound(name, resolver: gateway)), .thisHost(.missingRecord(name, of: .ipv4)),
            .thisHost(.hostsFile(name, address: gateway, dns: [target])), .thisHost(.noNameserver),
            .thisHost(.noDescriptor), .thisHost(.request(status: 404)), .thisHost(.request(status: 401)),
            .thisHost(.request(status: 407)), .thisHost(.request(status: 418)), .router(.absent(gateway, link: link)),
            .router(.silent(gateway, link: link, lastConfirmed: .seconds(25))), .router(.prohibits(icmp)),
            .provider(.nothingBeyond(gateway: gateway)), .provider(.noRoute(icmp)), .provider(.checksFail),
            .provider(.ends(after: gateway)),
            .provider(.portal(location: "http://\(name)/")), .resolver(.silent([gateway])),
            .resolver(.silent([gateway, target])), .resolver(.refused(gateway)),
            .resolver(.refused(IPAddress(ipv4: 0x7F00_0035))), .resolver(.fails(gateway, code: "SERVFAIL")),
            .resolver(.denies(gateway, name: name)),
            .resolver(.blocks(gateway, name: name, answer: IPAddress(ipv4: 0))),
            .onTheWay(.loop(at: target)), .onTheWay(.prohibits(icmp)), .onTheWay(.noRoute(icmp)),
            .onTheWay(.ends(after: gateway)), .onTheWay(.largePackets(link: link, fitting: 1280)), .server(.refused),
            .onTheWay(.tcpEnds(after: gateway, port: 65_535)),
            .server(.gone(icmp)),
            .server(.absent(target, link: link)), .server(.portSilent),
            .server(.prohibits(icmp)), .server(.handshakeSilent), .server(.handshakeReset), .server(.notTLS),
            .server(.handshakeRefused("tlsv1 alert protocol version")), .server(.certificate(.expired, certificate)),
            .server(.certificate(.notYetValid, certificate)), .server(.certificate(.selfSigned, certificate)),
            .server(.certificate(.unknownIssuer, certificate)), .server(.certificate(.wrongName, certificate)),
            .server(.certificate(.revoked, certificate)), .server(.certificate(.noStatus, certificate)),
            .server(.certificate(.other("unsupported key"), certificate)),
            .server(.responseSilent), .server(.responseReset), .server(.bodyStopped), .server(.notHTTP),
            .server(.status(500)), .server(.status(503)), .server(.status(429)),
            .unknown(.routerOrProvider(gateway: gateway)), .unknown(.silence), .unknown(.notEnoughTime),
            .unknown(.hostOrPath), .unknown(.oneCheck), .unknown(.forwarder), .unknown(.silentTunnel(link)),
        ]
    }

    static let all = causes(gateway, target, link: "uplink", name: "www.test")

    // The longest addresses, link names and host names that there are.
    private static let longName = Array(repeating: String(repeating: "n", count: 49), count: 5).joined(separator: ".")
    private static let longest: [Cause] = {
        let gateway = IPAddress("fe80:1111:2222:3333:4444:5555:6666:7777%4294967295") ?? Self.gateway
        let target = IPAddress("2001:1111:2222:3333:4444:5555:6666:7777") ?? Self.target
        let certificate = CertificateSummary(
            subject: "CN=\(longName)", issuer: "CN=Authority of \(longName)", notBefore: "Nov 20 12:00:00 2026 GMT",
            notAfter: "Nov 21 12:00:00 2026 GMT", names: Array(repeating: longName, count: 4))
        let link = String(repeating: "l", count: 15)
        return causes(gateway, target, link: link, name: longName, certificate) + [
            kernel(.noRoute, link: link, switchedOff: link), .provider(.portal(location: nil)),
            .provider(.nothingBeyond(gateway: nil)), .resolver(.silent(Array(repeating: target, count: 9))),
            .onTheWay(.ends(after: nil)),
        ]
    }()

    @Test("A sentence has at most 90 characters, begins with a capital, ends with one full stop and names the party")
    func sentences() throws {
        #expect(Self.longest.allSatisfy { $0.description != "" } && Self.longest.count > Self.all.count)
        let camel = /\b[a-z]+[A-Z][a-zA-Z]*\b/
        for (causes, name) in [(Self.all, "www.test"), (Self.longest, Self.longName)] {
            for target in [nil, try Target("\(name):443")] {
                for cause in causes {
                    let text = cause.sentence(about: target)
                    #expect(text.count <= 90, "\(text)")
                    #expect(text.first?.isUppercase == true && text.hasSuffix(".") && !text.hasSuffix(".."), "\(text)")
                    #expect(text.firstMatch(of: camel) == nil, "no code of JSON: \(text)")
                    let party = cause.party == .path ? "the way" : cause.party.description
                    #expect(text.lowercased().contains(party), "\(text)")
                }
            }
        }
    }

    @Test("A sentence says who does not do what")
    func sentence() throws {
        let rows: [(Cause, String)] = [
            (
                .provider(.nothingBeyond(gateway: Self.gateway)),
                "Your provider is down: 10.77.0.1 answers, nothing beyond it does."
            ),
            (
                .router(.silent(Self.gateway, link: "uplink", lastConfirmed: .seconds(25))),
                "Your router 10.77.0.1 does not answer on uplink."
            ),
            (.resolver(.silent([Self.target])), "The resolver 203.0.113.10 does not answer."),
            (
                .resolver(.silent([Self.gateway, Self.target, Self.target])),
                "The resolvers do not answer: 10.77.0.1, 203.0.113.10 and 1 more."
            ),
            (Self.kernel(.noCarrier), "This host: uplink has no carrier."),
            (.server(.refused), "The server 203.0.113.10 refuses connections on port 80."),
            (.server(.status(500)), "The server 203.0.113.10 answered 500."),
            (.server(.certificate(.expired, nil)), "The server 203.0.113.10: the certificate expired."),
            (
                .server(.certificate(.unknownIssuer, nil)),
                "The server: the certificate is not signed by an authority that this host trusts."
            ),
            (.onTheWay(.ends(after: Self.gateway)), "The way ends after 10.77.0.1."),
            (.provider(.checksFail), "Internet checks fail: probably your provider."),
            (.unknown(.silence), "Not known: no answer, and nothing says why."),
        ]
        for (cause, text) in rows { #expect(cause.sentence(about: try Target("203.0.113.10:80")) == text) }
    }

    @Test("What is too long loses parentheses first, then the middle of its longest word, then what follows a comma")
    func fitting() {
        let long = String(repeating: "a", count: 60) + String(repeating: "b", count: 60)
        #expect(Sentence.fitting("no way out; \(long)") == "No way out.")
        #expect(Sentence.fitting("no way out (\(long))") == "No way out.")
        let short =
            "No way to " + String(repeating: "a", count: 30) + "…" + String(repeating: "b", count: 30)
            + " at present, sorry."
        #expect(Sentence.fitting("no way to \(long) at present, sorry") == short)
        #expect(short.count == 90)
        #expect(
            Sentence.fitting("all \(String(repeating: "is well ", count: 9))so far, and more of it")
                == "All \(String(repeating: "is well ", count: 9))so far.")
    }

    @Test("Every cause has a clause and an advice of one sentence, in words", arguments: all)
    func text(_ cause: Cause) throws {
        let advice = cause.advice(for: try Target("www.test:443"))
        #expect(advice.hasSuffix(".") && advice.first?.isUppercase == true, "\(advice)")
        #expect(!cause.description.hasSuffix(".") && !cause.description.isEmpty, "\(cause.description)")
        // An enum case has its name in camel case; keys of sysctl(8) and names of headers are no words of this kind.
        let camel = /\b[a-z]+[A-Z][a-zA-Z]*\b/
        for text in [cause.description, advice] { #expect(text.firstMatch(of: camel) == nil, "\(text)") }
    }

    @Test("No two causes of different kinds give the same advice")
    func distinct() throws {
        let target = try Target("www.test:443")
        var codes: [String: String] = [:]
        for cause in Self.all {
            let advice = cause.advice(for: target)
            if let other = codes[advice] {
                // A server that accepts and stays silent is the same to its operator, whatever it keeps to itself.
                let pair = Set([other, cause.code])
                #expect(
                    pair.count == 1 || pair == ["handshakeSilent", "responseSilent"]
                        || pair == ["responseReset", "bodyStopped"] || pair == ["pathProhibits", "pathNoRoute"],
                    "\(pair): \(advice)")
            }
            codes[advice] = cause.code
        }
    }

    @Test("Only a gateway that the kernel does not take for reachable any more is to be restarted")
    func restart() throws {
        let target = try Target("www.test:443")
        func advice(_ age: Duration?) -> String {
            Cause.router(.silent(Self.gateway, link: "uplink", lastConfirmed: age)).advice(for: target)
        }
        #expect(advice(nil).contains("restart it") && advice(.seconds(46)).contains("restart it"))
        #expect(!advice(.seconds(45)).lowercased().contains("restart"))
        let stub = IPAddress(ipv4: 0x7F00_0035)
        for (server, party) in [(stub, FaultParty.mine), (Self.gateway, .resolver)] {
            let causes: [ResolverCause] = [
                .silent([server]), .refused(server), .fails(server, code: "SERVFAIL"),
                .silentAbout(server, name: "a.test"),
            ]
            for cause in causes { #expect(Cause.resolver(cause).party == party, "\(cause)") }
        }
        #expect(Cause.resolver(.silent([stub, Self.gateway])).party == .resolver)
        let undecided = Cause.unknown(.routerOrProvider(gateway: Self.gateway))
        #expect(!undecided.advice(for: target).lowercased().contains("restart"))
    }

    @Test("The case says whose failure it is")
    func party() {
        #expect(Cause.thisHost(.noNameserver).party == .mine)
        #expect(Cause.router(.absent(Self.gateway, link: "uplink")).party == .gateway)
        #expect(Cause.provider(.checksFail).party == .upstream)
        #expect(Cause.resolver(.silent([])).party == .resolver)
        #expect(Cause.onTheWay(.largePackets(link: nil, fitting: 1280)).party == .path)
        #expect(Cause.server(.refused).party == .theirs)
        #expect(Cause.unknown(.silence).party == .unknown)
    }

    @Test("Advice carries the command to type")
    func commands() throws {
        let target = try Target("www.test:443")
        let rows: [(Cause, String)] = [
            (Self.kernel(.adminDown), "ip link set uplink up"),
            (Self.kernel(.noRoute, switchedOff: "uplink"), "ip link set uplink up"),
            (Self.kernel(.noRoute), "Add a default IPv4 route"),
            (
                Self.kernel(.noCarrier, alternative: "up2"),
                "let the default route of up2 take over: sysctl -w net.ipv4.conf.uplink.ignore_routes_with_linkdown=1"
            ),
            (.thisHost(.filter(Self.icmp)), "nft list ruleset"),
            (.onTheWay(.largePackets(link: "uplink", fitting: 576)), "via ROUTER dev uplink mtu lock 576"),
            (.onTheWay(.largePackets(link: "uplink", fitting: 1280)), "Lower the MTU: ip link set uplink mtu 1280, or"),
            (.server(.notTLS), "http://"),
            (.provider(.portal(location: "http://portal.test/")), "http://portal.test/"),
            (.thisHost(.hostsFile("www.test", address: Self.gateway, dns: [Self.target])), "/etc/hosts"),
        ]
        for (cause, command) in rows {
            #expect(cause.advice(for: target).contains(command), "\(cause.advice(for: target))")
        }
    }

    @Test("A router that was confirmed a moment ago is not to be restarted", arguments: [(25, false), (90, true)])
    func restart(_ age: Int, _ isRestarted: Bool) throws {
        let cause = Cause.router(.silent(Self.gateway, link: "uplink", lastConfirmed: .seconds(age)))
        #expect(cause.advice(for: try Target("www.test:443")).contains("restart it") == isRestarted)
    }

    @Test("A certificate's end is read from its text")
    func expiry() {
        let certificate = CertificateSummary(
            subject: "CN=a", issuer: "CN=b", notAfter: "Nov 21 12:00:00 2026 GMT")
        #expect(certificate.expiry?.seconds == 1_795_262_400)
        #expect(CertificateSummary(subject: "", issuer: "", notAfter: "soon").expiry == nil)
    }
}
