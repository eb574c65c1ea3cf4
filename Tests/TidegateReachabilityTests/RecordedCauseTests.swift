internal import Foundation
internal import Testing
@testable internal import TidegateCore
@testable internal import TidegateNetwork
internal import TidegateTestKit

@testable internal import TidegateReachability

/// Findings of diagnoses of every kind, and their causes, which stand in a file: a change of a rule is a change there.
struct RecordedCauseTests {
    private static let own = IPAddress(ipv4: 0x0A00_0002)
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)
    private static let router = IPAddress(ipv4: 0xC000_024D)
    private static let other = IPAddress(ipv4: 0xC000_024E)
    private static let target = IPAddress(ipv4: 0xC633_6402)
    private static let sentinel = IPAddress(ipv4: 0xC629_0004)

    private static func path(_ gateway: IPAddress? = gateway) -> Verdict {
        Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 77, gateway: gateway, source: self.own))
    }

    private static func findings(_ address: IPAddress = target, _ verdict: Verdict = path()) -> PathFindings {
        var findings = PathFindings(subject: .target(address), addresses: [address])
        (findings.verdict, findings.port) = (verdict, 443)
        return findings
    }

    private static func walk(_ hops: [HopWalkResult.Outcome], to address: IPAddress = target) -> HopWalkResult {
        HopWalkResult(destination: address, port: 443, hops: hops)
    }

    private static func hop(_ address: IPAddress, _ type: UInt8 = 11, _ code: UInt8 = 0) -> HopWalkResult.Outcome {
        .answered(ICMPError(offender: address, type: type, code: code), by: address, after: .milliseconds(1))
    }

    private static let walks: [(String, HopWalkResult?)] = [
        ("no walk", nil), ("silent walk", walk([.silent, .silent])),
        ("walk to gateway", walk([hop(gateway), .silent])),
        ("walk to router", walk([hop(gateway), hop(router), .silent])),
        ("walk to target", walk([hop(gateway), .reached(.refused, after: .milliseconds(1))])),
        ("gateway says 3/1", walk([hop(gateway, 3, 1)])),
    ]

    private static let sentinelWalks: [(String, HopWalkResult?)] = [
        ("", nil), (", second walk to gateway", walk([hop(gateway), .silent], to: sentinel)),
        (", second walk to same router", walk([hop(gateway), hop(router), .silent], to: sentinel)),
        (", second walk to other router", walk([hop(gateway), hop(other), .silent], to: sentinel)),
        (", sentinel reached", walk([hop(gateway), .reached(.connected, after: .milliseconds(1))], to: sentinel)),
    ]

    private static let gateways: [(String, GatewayFindings)] = {
        func gateway(
            _ state: KernelNeighbour.State?, _ probe: UDPProbe.Result?, age: Duration? = nil
        ) -> GatewayFindings {
            var findings = GatewayFindings()
            findings.neighbour = state.map {
                KernelNeighbour(address: Self.gateway, link: 77, state: $0, confirmedAge: age)
            }
            (findings.udpProbe, findings.probedAgo) = (probe, probe == nil ? nil : .seconds(2))
            return findings
        }
        var tunnel = gateway(nil, nil)
        tunnel.resolvesNeighbours = false
        var stuck = gateway(.stale, nil)
        (stuck.isStuck, stuck.wasReachable) = (true, true)
        return [
            ("unknown", gateway(nil, nil)), ("answers", gateway(.reachable, .answered)),
            ("failed", gateway(.failed, nil)), ("incomplete", gateway(.incomplete, .silent)), ("stuck", stuck),
            ("reachable, silent", gateway(.reachable, .silent, age: .seconds(25))),
            ("stale, silent", gateway(.stale, .silent, age: .seconds(90))),
            ("confirmed since, silent", gateway(.reachable, .silent, age: .seconds(1))), ("tunnel", tunnel),
        ]
    }()

    private static func check(_ finding: InternetObservation.Finding, _ url: String) throws -> InternetObservation {
        InternetObservation(url: try InternetCheckURL(url), finding: finding, evidence: "")
    }

    private static func checks() throws -> [(String, [InternetObservation]?)] {
        [
            ("", nil), (", one check fails", [try self.check(.silent, "http://one.test/")]),
            (
                ", two checks fail",
                [try self.check(.silent, "http://one.test/"), try self.check(.silent, "https://two.test/")]
            ),
            (", check works", [try self.check(.good, "http://one.test/")]),
        ]
    }

    private typealias Answers = [(evidence: String, answer: String)]

    private static func answer(
        _ name: String, _ report: RungReport, _ path: PathFindings?, name findings: NameFindings? = nil
    ) throws -> Answers {
        var all = LadderFindings(target: try ExplainTarget("https://www.test:443/"), families: AddressFamily.allCases)
        (all.name, all.paths) = (findings, path.map { [.ipv4: $0] } ?? [:])
        let found = CauseFinder(findings: all, path: path).cause(of: report)
        return [
            (
                "\(report.rung.rawValue) \(report.reason?.rawValue ?? "-"), \(name)",
                "\(found.cause.party.label) \(found.rung.rawValue) \(found.cause.code): \(found.cause)"
            )
        ]
    }

    private static func bad(_ rung: Rung, _ reason: UnreachableReason?) -> RungReport {
        RungReport(rung: rung, status: .bad, reason: reason, evidence: [])
    }

    @Test("The kernel's report needs no other witness")
    func kernel() throws {
        var answers: Answers = []
        for reason in UnreachableReason.allCases {
            answers += try Self.answer("path known", Self.bad(reason.rung, reason), Self.findings())
            answers += try Self.answer("no path", Self.bad(reason.rung, reason), nil)
        }
        answers += try Self.answer("no reason", Self.bad(.tcp, nil), Self.findings())
        #expect(try RecordedAnswers.differences(answers, from: Self.file("kernel")) == [])
    }

    @Test("Silence of a target, by gateway, walks and checks")
    func silence() throws {
        var answers: Answers = []
        for (gatewayName, gateway) in Self.gateways {
            for (walkName, walk) in Self.walks {
                for (secondName, second) in Self.sentinelWalks {
                    for (checkName, checks) in try Self.checks() where secondName.isEmpty || checkName.isEmpty {
                        var path = Self.findings()
                        (path.gateway, path.walk, path.sentinelWalk, path.internet) = (gateway, walk, second, checks)
                        let name = "gateway \(gatewayName), \(walkName)\(secondName)\(checkName)"
                        answers += try Self.answer(name, Self.bad(.tcp, .timeout), path)
                        guard checks != nil else { continue }
                        answers += try Self.answer(name, Self.bad(.internet, .limited), path)
                    }
                }
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("silence")) == [])
    }

    @Test("Silence of the gateway as a resolver, and of hosts on the link")
    func link() throws {
        var answers: Answers = []
        for (walkName, walk) in Self.walks + [
            ("itself", Self.walk([.reached(.refused, after: .zero)], to: Self.gateway))
        ] {
            for (secondName, second) in Self.sentinelWalks {
                for leadsToGateway in [false, true] {
                    for refusal in [nil, ICMPError(offender: Self.own, type: 3, code: 1)] {
                        var path = Self.findings(Self.gateway, Self.path(nil))
                        (path.walk, path.sentinelWalk, path.leadsToGateway) = (walk, second, leadsToGateway)
                        path.neighbourRefusal = refusal
                        let name =
                            "\(walkName)\(secondName)\(leadsToGateway ? ", is the gateway" : "")"
                            + (refusal == nil ? "" : ", not found")
                        answers += try Self.answer(name, Self.bad(.tcp, .timeout), path)
                        path.subject = .resolver(Self.gateway)
                        let servers = [
                            ResolverFindings(server: Self.gateway, verdict: Self.path(nil), answers: [.a: .timedOut])
                        ]
                        answers += try Self.answer(
                            name, Self.bad(.dns, .resolverTimeout), path,
                            name: NameFindings(name: "www.test", servers: servers))
                    }
                }
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("link")) == [])
    }

    @Test("Names, by what resolvers answer and where they are")
    func names() throws {
        let good = DNSOutcome.answered([Self.target], timeToLive: .seconds(60))
        let outcomes: [(String, UnreachableReason, DNSOutcome, DNSOutcome?)] = [
            ("silent", .resolverTimeout, .timedOut, nil), ("SERVFAIL", .resolverFailed, .failed(code: "SERVFAIL"), nil),
            ("refuses", .resolverFailed, .refused, nil), ("denies", .nameNotFound, .nameNotFound, good),
            ("denies all", .nameNotFound, .nameNotFound, .nameNotFound), ("no data", .nameNotFound, .noData, nil),
            ("unreachable", .resolverNoRoute, .unreachable(nil), nil),
            (
                "gateway says 3/0", .resolverNoRoute,
                .unreachable(ICMPError(offender: Self.gateway, type: 3, code: 0)), nil
            ),
            (
                "gateway says 3/13", .resolverNoRoute,
                .unreachable(ICMPError(offender: Self.gateway, type: 3, code: 13)), nil
            ),
        ]
        var answers: Answers = []
        for (outcomeName, reason, outcome, control) in outcomes {
            for (place, server, verdict) in [
                ("beyond", Self.sentinel, Self.path()), ("on link", Self.other, Self.path(nil)),
                ("the gateway", Self.gateway, Self.path(nil)),
            ] {
                for (walkName, walk) in Self.walks {
                    for (gatewayName, gateway) in Self.gateways.prefix(3) {
                        var path = Self.findings(server, verdict)
                        (path.subject, path.walk, path.gateway) = (.resolver(server), walk, gateway)
                        path.leadsToGateway = server == Self.gateway
                        let found = ResolverFindings(
                            server: server, verdict: verdict, answers: [.a: outcome], control: control)
                        answers += try Self.answer(
                            "\(outcomeName), \(place), gateway \(gatewayName), \(walkName)", Self.bad(.dns, reason),
                            path, name: NameFindings(name: "www.test", servers: [found]))
                    }
                }
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("names")) == [])
    }

    @Test("What servers answer, and ICMP errors about them")
    func servers() throws {
        var answers: Answers = []
        func add(_ name: String, _ rung: Rung, _ reason: UnreachableReason, _ answer: HTTPCheck.Result) throws {
            for (checkName, checks) in try Self.checks() {
                for large in [false, true] {
                    var path = Self.findings()
                    (path.web, path.internet) = ([Self.target: answer], checks)
                    path.fittingPacket = large ? 1400 : nil
                    answers += try Self.answer(
                        name + checkName + (large ? ", large packets lost" : ""), Self.bad(rung, reason), path)
                }
            }
        }
        for status in [301, 400, 401, 404, 407, 408, 418, 429, 500, 503] {
            try add("\(status)", .http, .httpError, .init(reached: .response, status: status))
        }
        for error in [CertificateError.expired, .selfSigned, .wrongName, .other("text")] {
            try add(
                "\(error)", .tls, .tlsFailed, .init(reached: .connect, failure: .tlsFailed, certificateError: error))
        }
        for failure in [HandshakeFailure.notTLS, .brokenOff, .notAccepted("unsupported protocol")] {
            try add("\(failure)", .tls, .tlsFailed, .init(reached: .connect, failure: .tlsFailed, handshake: failure))
        }
        for failure in [TaskFailure.timedOut, .reset, .truncated, .protocolError, .tlsFailed] {
            try add(
                "\(failure)", .tls, failure == .timedOut ? .timeout : .tlsFailed,
                .init(reached: .connect, failure: failure))
            try add(
                "\(failure)", .http, failure == .timedOut ? .timeout : .httpError,
                .init(reached: .tls, failure: failure))
        }
        for error in [SocketError.refused, .reset, .networkUnreachable, .hostUnreachable, .timedOut, .prohibited] {
            let answer = HTTPCheck.Result(reached: nil, failure: .connectFailed, socketError: error)
            try add("\(error)", .tcp, WebRungs.connectFailure(answer), answer)
        }
        for (type, code) in [(3, 0), (3, 1), (3, 3), (3, 13), (11, 0), (12, 0)] as [(UInt8, UInt8)] {
            for (sender, address) in [
                ("kernel", nil), ("own", Self.own), ("gateway", Self.gateway), ("router", Self.router),
                ("target", Self.target),
            ] as [(String, IPAddress?)] {
                let refusal = ICMPError(offender: address, type: type, code: code)
                try add(
                    "ICMP \(type)/\(code) of \(sender)", .tcp, .hostUnreachable,
                    .init(reached: nil, failure: .connectFailed, refusal: refusal))
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("servers")) == [])
    }

    @Test("Targets of this host, and addresses from the hosts file")
    func overridden() throws {
        var answers: Answers = []
        let web: [(String, UnreachableReason, HTTPCheck.Result)] = [
            ("refused", .refused, .init(reached: nil, failure: .connectFailed, socketError: .refused)),
            ("silent", .timeout, .init(reached: nil, failure: .timedOut)),
            (
                "ICMP 3/1", .hostUnreachable,
                .init(
                    reached: nil, failure: .connectFailed, refusal: ICMPError(offender: Self.router, type: 3, code: 1))
            ),
        ]
        for (webName, reason, answer) in web {
            for (nameName, hosts, dns) in [
                ("DNS", [], [Self.target]), ("hosts file", [Self.target], []),
                ("hosts file and DNS", [Self.target], [Self.target]),
                ("hosts file, not DNS", [Self.target], [Self.other]),
            ] as [(String, [IPAddress], [IPAddress])] {
                for isThisHost in [false, true] {
                    var path = Self.findings()
                    (path.web, path.verdict.notes) = ([Self.target: answer], isThisHost ? [.thisHost] : [])
                    let found = ResolverFindings(
                        server: Self.sentinel, verdict: Self.path(),
                        answers: [.a: dns.isEmpty ? .nameNotFound : .answered(dns, timeToLive: .seconds(5))])
                    let name = NameFindings(
                        name: "www.test", system: .success([Self.target]), servers: [found], hostsFile: hosts)
                    answers += try Self.answer(
                        "\(webName), \(nameName)\(isThisHost ? ", this host" : "")", Self.bad(.tcp, reason), path,
                        name: name)
                }
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("overridden")) == [])
    }

    private static func file(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden/\(name).txt")
    }
}
