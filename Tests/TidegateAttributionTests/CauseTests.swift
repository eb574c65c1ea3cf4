import Testing
import TidegateAttribution
@testable import TidegateCore

/// What is said of a cause: whose, what is wrong, what to do.
@Suite struct CauseTests {
    private static let gateway = IPAddress(ipv4: 0x0A4D_0001)
    private static let target = IPAddress(ipv4: 0xCB00_710A)
    private static let icmp = ICMPError(offender: gateway, type: 3, code: 13)

    private static func kernel(
        _ reason: UnreachableReason, alternative: String? = nil, switchedOff: String? = nil
    ) -> Cause {
        .thisHost(
            .kernel(
                .init(
                    reason: reason, link: "uplink", family: .ipv4, liveAlternative: alternative,
                    linkSwitchedOff: switchedOff)))
    }

    static let reasons: [UnreachableReason] = [
        .monitorDown, .noInterface, .adminDown, .noCarrier, .dormant, .flapping, .lowerLayerDown, .noAddress,
        .linkLocalOnly, .tentative, .dadFailed, .noRoute, .routeUnreachable, .prohibited, .blackholed, .noSourceAddress,
        .noSuchInterface, .notAHost, .resolverNoRoute,
    ]

    static let all: [Cause] =
        reasons.map { kernel($0) } + [
            .thisHost(.filter(icmp)), .thisHost(.nothingListens(target, port: 80)),
            .thisHost(.nameNotFound("nope.test", resolver: gateway)), .thisHost(.missingRecord("v6.test", of: .ipv4)),
            .thisHost(.hostsFile("www.test", address: gateway, dns: [target])), .thisHost(.noNameserver),
            .thisHost(.request(status: 404)), .thisHost(.request(status: 401)), .thisHost(.request(status: 407)),
            .thisHost(.request(status: 418)), .router(.absent(gateway, link: "uplink")),
            .router(.silent(gateway, link: "uplink", lastConfirmed: .seconds(25))), .router(.prohibits(icmp)),
            .provider(.nothingBeyond(gateway: gateway)), .provider(.noRoute(icmp)), .provider(.checksFail),
            .provider(.ends(after: gateway)),
            .provider(.portal(location: "http://portal.test/")), .resolver(.silent([gateway])),
            .resolver(.silent([gateway, target])), .resolver(.refused(gateway)),
            .resolver(.refused(IPAddress(ipv4: 0x7F00_0035))), .resolver(.fails(gateway, code: "SERVFAIL")),
            .resolver(.denies(gateway, name: "www.test")),
            .resolver(.blocks(gateway, name: "www.test", answer: IPAddress(ipv4: 0))),
            .onTheWay(.loop(at: target)), .onTheWay(.prohibits(icmp)), .onTheWay(.noRoute(icmp)),
            .onTheWay(.ends(after: gateway)), .onTheWay(.largePackets), .server(.refused), .server(.gone(icmp)),
            .server(.absent(target, link: "uplink")), .server(.portSilent),
            .server(.prohibits(icmp)), .server(.handshakeSilent), .server(.handshakeReset), .server(.notTLS),
            .server(.handshakeRefused("tlsv1 alert protocol version")), .server(.certificate(.expired, nil)),
            .server(.certificate(.notYetValid, nil)), .server(.certificate(.selfSigned, nil)),
            .server(.certificate(.unknownIssuer, nil)), .server(.certificate(.wrongName, nil)),
            .server(.certificate(.revoked, nil)), .server(.certificate(.other("unsupported key"), nil)),
            .server(.responseSilent), .server(.responseReset), .server(.bodyStopped), .server(.notHTTP),
            .server(.status(500)), .server(.status(503)), .server(.status(429)),
            .unknown(.routerOrProvider(gateway: gateway)), .unknown(.silence), .unknown(.notEnoughTime),
        ]

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

    @Test("The case says whose failure it is")
    func party() {
        #expect(Cause.thisHost(.noNameserver).party == .mine)
        #expect(Cause.router(.absent(Self.gateway, link: "uplink")).party == .gateway)
        #expect(Cause.provider(.checksFail).party == .upstream)
        #expect(Cause.resolver(.silent([])).party == .resolver)
        #expect(Cause.onTheWay(.largePackets).party == .path)
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
        #expect(cause.advice(for: try Target("www.test:443")).hasPrefix("Restart") == isRestarted)
    }

    @Test("A certificate's end is read from its text")
    func expiry() {
        let certificate = CertificateSummary(
            subject: "CN=a", issuer: "CN=b", notAfter: "Nov 21 12:00:00 2026 GMT")
        #expect(certificate.expiry?.seconds == 1_795_262_400)
        #expect(CertificateSummary(subject: "", issuer: "", notAfter: "soon").expiry == nil)
    }
}
