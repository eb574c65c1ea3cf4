import Foundation
import Testing
import TidegateAttribution
import TidegateCore
import TidegateTestKit

/// Evidence of failed attempts of every kind, and the answers that stand in a file: a change of a rule is a change there.
@Suite struct RecordedAttributionTests {
    private static let own = IPAddress(ipv4: 0x0A00_0002)
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)
    private static let router = IPAddress(ipv4: 0xC000_024D)
    private static let target = IPAddress(ipv4: 0xC633_6402)
    private static let resolver = IPAddress(ipv4: 0xCB00_7135)
    private static let link = NetworkPath(interface: "eth0", index: 2, source: own)
    private static let path = NetworkPath(interface: "eth0", index: 2, gateway: gateway, source: own)
    private static let routed = Verdict(level: .routed, path: path)
    private static let onLink = Verdict(level: .routed, path: link)

    private static let gateways: [(String, SilenceEvidence.Gateway)] = [
        ("none", .none), ("unknown", .unknown), ("answers", .answers(gateway)), ("confirmed", .confirmed(gateway)),
        ("absent", .unresolved(gateway, link: "eth0", wasReachable: false)),
        ("gone", .unresolved(gateway, link: "eth0", wasReachable: true)),
        ("old", .unconfirmed(gateway, link: "eth0", age: .seconds(25))),
        ("unconfirmed", .unconfirmed(gateway, link: "eth0", age: nil)),
    ]

    private static let witnesses: [(String, [Witness])] = [
        ("nobody", []), ("walk to nothing", [Witness(.hopWalk, .nothing)]),
        ("walk to gateway", [Witness(.hopWalk, .gateway)]), ("walk to router", [Witness(.hopWalk, .router(router))]),
        ("walk to target", [Witness(.hopWalk, .destination)]),
        ("silent check", [Witness(.internetCheck, .nothing)]),
        ("working check", [Witness(.internetCheck, .beyond(nil))]),
        ("walk to router, working check", [Witness(.hopWalk, .router(router)), Witness(.internetCheck, .beyond(nil))]),
    ]

    private static func evidence(
        _ failure: TaskFailure, _ stage: Stage? = nil, verdict: Verdict = routed,
        _ change: (inout FailureEvidence) -> Void = { _ in }
    ) -> FailureEvidence {
        var evidence = FailureEvidence(
            failure: failure, stage: stage, peer: self.target, local: self.own, unanswered: stage == nil ? 0 : 4,
            before: verdict, after: verdict)
        change(&evidence)
        return evidence
    }

    private static func answer(_ evidence: FailureEvidence) -> String {
        guard let answer = DecisionTable.attribution(of: evidence) else { return "nobody" }
        let silence = answer.silence.map { ", silent: \($0 == .target ? "target" : "resolvers")" } ?? ""
        return "\(answer.party.label) \(answer.rung?.rawValue ?? "-")\(silence): "
            + answer.evidence.joined(separator: "; ")
    }

    private typealias Answers = [(evidence: String, answer: String)]

    private static func answers(_ name: String, _ evidence: FailureEvidence) -> Answers {
        [("\(evidence.failure) \(evidence.stage.map { "\($0)" } ?? "-"), \(name)", self.answer(evidence))]
    }

    @Test("Failures on paths that stand, are lost, move or have a portal")
    func paths() throws {
        let moved = Verdict(level: .routed, path: NetworkPath(interface: "wlan0", index: 3, gateway: Self.router))
        let verdicts: [(String, Verdict, Verdict)] = [
            ("path stands", Self.routed, Self.routed),
            ("path lost", Self.routed, Verdict(level: .none, reason: .noCarrier)),
            ("no path before", Verdict(level: .local, reason: .noRoute), Self.routed),
            ("path moved", Self.routed, moved), ("nothing known", .unknown, .unknown),
            ("portal", Self.routed, Verdict(level: .portal, reason: .portal, path: Self.path)),
        ]
        var answers: Answers = []
        for failure in TaskFailure.allCases {
            for (name, before, after) in verdicts {
                answers += Self.answers(
                    name, Self.evidence(failure, .response) { ($0.before, $0.after) = (before, after) })
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("paths")) == [])
    }

    @Test("What servers, proxies and resolvers answer")
    func answered() throws {
        var answers: Answers = []
        for status in [nil, 400, 401, 403, 404, 407, 408, 410, 418, 429, 499, 500, 502, 503] {
            answers += Self.answers(
                "status \(status ?? 0)", Self.evidence(.httpStatus, .response) { $0.status = status })
        }
        for proxy in [ProxyAnswer.denied, .failed, .unreachable, .unclear] {
            for failure in [TaskFailure.connectFailed, .tlsFailed, .httpStatus] {
                answers += Self.answers("proxy \(proxy)", Self.evidence(failure, .connect) { $0.proxyAnswer = proxy })
            }
        }
        for lacksCertificate in [false, true] {
            answers += Self.answers(
                "client certificate \(lacksCertificate)",
                Self.evidence(.tlsFailed, .tls) {
                    ($0.lacksClientCertificate, $0.text) = (lacksCertificate, "alert 42")
                })
        }
        for failure in [nil] + ResolveFailure.allCases {
            for proxy in [nil, "proxy.test:3128"] {
                answers += Self.answers(
                    "name \(failure.map { "\($0)" } ?? "-"), proxy \(proxy ?? "-")",
                    Self.evidence(.resolveFailed, .resolve) { ($0.resolveFailure, $0.proxy) = (failure, proxy) })
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("answered")) == [])
    }

    @Test("ICMP errors by sender")
    func refusals() throws {
        let senders: [(String, IPAddress?)] = [
            ("kernel", nil), ("own", Self.own), ("gateway", Self.gateway), ("router", Self.router),
            ("destination", Self.target),
        ]
        let same = Witness(.hopWalk, .gateway, refusal: ICMPError(offender: Self.gateway, type: 3, code: 1))
        let other = Witness(.hopWalk, .gateway, refusal: ICMPError(offender: Self.gateway, type: 3, code: 0))
        let witnesses: [(String, [Witness])] = [
            ("nobody", []), ("same refusal", [same]), ("other refusal", [other]),
            ("one answers", [same, Witness(.attempt, .beyond(nil))]),
        ]
        var answers: Answers = []
        for (type, code) in [(3, 0), (3, 1), (3, 3), (3, 13), (11, 0), (12, 0)] as [(UInt8, UInt8)] {
            for (sender, address) in senders {
                for (name, witnesses) in witnesses where sender == "gateway" || name == "nobody" {
                    for (place, verdict) in [("behind gateway", Self.routed), ("on link", Self.onLink)] {
                        let evidence = Self.evidence(.connectFailed, .connect, verdict: verdict) {
                            $0.refusal = ICMPError(offender: address, type: type, code: code)
                            $0.witnesses = witnesses
                        }
                        answers += Self.answers("ICMP \(type)/\(code) of \(sender), \(name), \(place)", evidence)
                    }
                }
            }
        }
        answers += Self.answers(
            "through a proxy",
            Self.evidence(.connectFailed, .connect) {
                ($0.refusal, $0.proxy) = (ICMPError(offender: Self.router, type: 3, code: 13), "proxy.test:3128")
            })
        #expect(try RecordedAnswers.differences(answers, from: Self.file("refusals")) == [])
    }

    @Test("Socket errors at every stage")
    func sockets() throws {
        let errors: [SocketError] = [
            .refused, .networkUnreachable, .hostUnreachable, .timedOut, .reset, .addressNotAvailable, .prohibited,
            .blackholed, .noResources, .other,
        ]
        var answers: Answers = []
        for error in errors {
            for isImmediate in [false, true] {
                for stage in [nil] + Stage.allCases {
                    let evidence = Self.evidence(.connectFailed, stage) {
                        ($0.socketError, $0.isImmediate) = (error, isImmediate)
                    }
                    answers += Self.answers("\(error)\(isImmediate ? ", at once" : "")", evidence)
                }
            }
        }
        var here = Self.onLink
        here.notes = [.thisHost]
        for (peer, verdict) in [
            (IPAddress(ipv4: 0x7F00_0001), Self.onLink), (Self.own, here), (Self.target, Self.onLink),
        ] {
            answers += Self.answers(
                "refused by \(peer)",
                Self.evidence(.connectFailed, .connect, verdict: verdict) {
                    ($0.socketError, $0.peer) = (.refused, peer)
                })
        }
        for stage in [nil] + Stage.allCases {
            answers += Self.answers(
                "silence through a proxy", Self.evidence(.timedOut, stage) { $0.proxy = "proxy.test:3128" })
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("sockets")) == [])
    }

    @Test("Silence at every stage, by gateway and witnesses")
    func silence() throws {
        let peers: [(String, PeerEvidence)] = [
            ("", .init()), (", others answer", .init(reached: 2, missed: 1)), (", others silent", .init(missed: 1)),
        ]
        var answers: Answers = []
        for stage in [nil, .resolve, .connect, .tls, .response, .body] as [Stage?] {
            for (gatewayName, gateway) in Self.gateways {
                for (witnessName, witnesses) in Self.witnesses {
                    for (peersName, peers) in peers where peersName.isEmpty || witnessName == "nobody" {
                        let evidence = Self.evidence(stage == .resolve ? .resolveFailed : .timedOut, stage) {
                            ($0.gateway, $0.witnesses, $0.peers) = (gateway, witnesses, peers)
                        }
                        answers += Self.answers("gateway \(gatewayName), \(witnessName)\(peersName)", evidence)
                    }
                }
            }
            for (witnessName, witnesses) in Self.witnesses {
                let evidence = Self.evidence(.timedOut, stage, verdict: Self.onLink) {
                    ($0.gateway, $0.witnesses) = (.answers(Self.gateway), witnesses)
                }
                answers += Self.answers("on link, \(witnessName)", evidence)
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("silence")) == [])
    }

    @Test("Silence of resolvers and targets, as a diagnosis knows it")
    func diagnosed() throws {
        var answers: Answers = []
        for silent in [SilenceEvidence.Silent.target, .resolvers([Self.resolver])] {
            for (gatewayName, gateway) in Self.gateways {
                for (witnessName, witnesses) in Self.witnesses {
                    for large in [false, true] {
                        let cause = DecisionTable.cause(
                            of: SilenceEvidence(
                                silent: silent, gateway: gateway, witnesses: witnesses,
                                fittingPacket: large ? 1400 : nil))
                        let name =
                            "\(silent == .target ? "target" : "resolver"), gateway \(gatewayName), \(witnessName)"
                        answers.append(
                            (
                                name + (large ? ", large packets lost" : ""),
                                "\(cause.party.label) \(cause.code): \(cause)"
                            ))
                    }
                }
            }
        }
        #expect(try RecordedAnswers.differences(answers, from: Self.file("diagnosed")) == [])
    }

    private static func file(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden/\(name).txt")
    }
}
