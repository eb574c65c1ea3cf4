import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

/// What servers answer to the first message of a TLS handshake that is no handshake.
@Suite(.timeLimit(.minutes(5)))
struct HostileHandshakeTests {
    /// What a server does with a connection, and what has to come of it.
    struct Answer: Sendable, CustomTestStringConvertible {
        let name: String
        let steps: [ScriptedServer.Step]
        let reason: String
        let party: FaultParty
        let timeout: Duration

        var testDescription: String { self.name }

        init(
            _ name: String, _ steps: [ScriptedServer.Step], _ reason: String = "tls_failed",
            _ party: FaultParty = .theirs, within timeout: Duration = .seconds(20)
        ) {
            // What has not been read would have the end become a reset.
            self.name = name
            self.steps = [.read] + steps
            self.reason = reason
            self.party = party
            self.timeout = timeout
        }
    }

    // A record of the handshake begins with 22 and its version 3.3, then comes its length (RFC 8446 5.1).
    private static let answers: [Answer] = [
        Answer("garbage", [.send(String(repeating: "x\u{1}y\u{7F}", count: 64)), .hang]),
        Answer("garbage, then the end", [.send("SSH-2.0-OpenSSH_9.2\r\n")]),
        Answer("plain HTTP", [.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), .hang]),
        Answer("plain HTTP, then the end", [.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")]),
        Answer("a record that is cut off", [.send("\u{16}\u{3}\u{3}\u{0}\u{7A}\u{2}\u{0}\u{0}\u{76}\u{3}\u{3}")]),
        Answer("half a record's head", [.send("\u{16}\u{3}")]),
        Answer("a record that is too long", [.send("\u{16}\u{3}\u{3}\u{7F}\u{7F}\u{2}"), .hang]),
        Answer(
            "a record without content", [.send("\u{16}\u{3}\u{3}\u{0}\u{0}"), .hang], "timed_out", within: .seconds(1)),
        Answer("a message that is no ServerHello", [.send("\u{16}\u{3}\u{3}\u{0}\u{4}\u{14}\u{0}\u{0}\u{0}"), .hang]),
        Answer("handshake_failure", [.send("\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{28}")]),
        Answer("protocol_version", [.send("\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{46}"), .hang]),
        Answer("unrecognized_name", [.send("\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{70}"), .hang]),
        Answer("close_notify", [.send("\u{15}\u{3}\u{3}\u{0}\u{2}\u{1}\u{0}")]),
        Answer("the end at once", []),
        Answer("silence", [.hang], "timed_out", within: .seconds(1)),
        Answer(
            "half a record, then silence", [.send("\u{16}\u{3}\u{3}\u{0}\u{7A}\u{2}"), .hang], "timed_out",
            within: .seconds(1)),
        Answer("a reset", [.reset]),
    ]

    private static let probers: [ProbeModule.Prober] = [
        .http(), .tcp(.with { $0.usesTLS = true }),
        .dns(.with { ($0.name, $0.transport, $0.isEncrypted) = ("tide.test", .tcp, true) }),
        .grpc(.with { $0.usesTLS = true }), .websocket(),
    ]

    @Test("Every prober gives the same reason in the same words, and blames the server", arguments: Self.answers)
    func handshake(_ answer: Answer) async throws {
        var texts: [String: [String]] = [:]
        for prober in Self.probers {
            let server = try await ScriptedServer(answer.steps)
            let module = ProbeModule(prober: prober, timeout: answer.timeout)
            let prober = prober.name
            let scheme = ["http": "https://", "websocket": "wss://"][prober] ?? ""
            let report = try await ProbeFixture(module: module).probe("\(scheme)tide.test:\(server.port)")
            #expect(
                report.failure?.reason == answer.reason && report.failure?.party == answer.party,
                "\(prober): \(report.failure as Any)")
            #expect(report.value("probe_success") == 0 && !report.isGated, "\(prober)")
            #expect(report.value("probe_failure_info", answer.reason, answer.party.label) == 1, "\(prober)")
            #expect(!report.families.contains { $0.name.hasPrefix("probe_ssl_") }, "\(prober)")
            #expect(report.duration < .seconds(15), "\(prober)")
            texts[report.failure?.text ?? "", default: []].append(prober)
        }
        #expect(texts.count == 1, "\(texts)")
    }
}
