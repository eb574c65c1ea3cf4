import Foundation
import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

/// `ca`, `cert` and `key` of `tls_config`: certificates that stand in the module itself.
@Suite(
    .enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"), .timeLimit(.minutes(5)),
    // Each makes certificates, which keeps a small machine from everything else.
    .serialized)
struct InlineCertificateTests {
    private static let probers: [ProbeModule.Prober] = [.http(), .tcp(), .dns(), .grpc(), .websocket()]

    /// A plain server of a prober's protocol.
    private struct Server {
        let port: UInt16
        /// Must outlive the requests.
        let owner: AnyObject
        var protocols: [String] = []
        /// How often it was asked.
        let count: () -> Int

        init(for prober: ProbeModule.Prober) async throws {
            switch prober {
            case .http:
                let server = try LiveServer { _ in .respond(text: "ok") }
                (self.port, self.owner, self.count) = (server.port, server, { server.requests.count })
            case .dns:
                let server = try ScriptedNameServer(
                    stream: { DNSMessageBytes(answers: [DNSMessageBytes.a(1)]).stream(to: $0) }, datagrams: { _ in [] })
                (self.port, self.owner, self.count) = (server.port, server, { server.streamCount })
            case .grpc:
                let server = try await GRPCServer { _ in .health(1) }
                (self.port, self.owner, self.count) = (server.port, server, { server.calls.count })
                self.protocols = ["h2"]
            case .websocket:
                let server = try await WebSocketServer([.text("hello"), .read])
                (self.port, self.owner, self.count) = (UInt16(server.port), server, { server.requests.count })
            case .tcp, .unix, .icmp:
                let server = try await ScriptedServer([.readLine, .send("hello\n")])
                (self.port, self.owner, self.count) = (server.port, server, { server.lines.count })
            }
        }
    }

    private static func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private static func probe(
        _ prober: ProbeModule.Prober, _ port: UInt16, _ tls: ProbeTLSOptions
    ) async throws -> ProbeReport {
        let scheme = ["http": "https://", "websocket": "wss://"][prober.name] ?? ""
        let prober: ProbeModule.Prober =
            switch prober {
            case .http: .http(.with { $0.tls = tls })
            case .websocket: .websocket(try .with { ($0.tls, $0.dialogue) = (tls, [try .expect("hello")]) })
            case .dns:
                .dns(
                    .with {
                        ($0.tls, $0.isEncrypted, $0.transport) = (tls, true, .tcp)
                        $0.name = "www.tide.test"
                    })
            case .grpc: .grpc(.with { ($0.tls, $0.usesTLS) = (tls, true) })
            case .tcp, .unix, .icmp:
                .tcp(
                    try .with {
                        ($0.tls, $0.usesTLS) = (tls, true)
                        $0.dialogue = [.send("hi"), try .expect("hello")]
                    })
            }
        return try await ProbeFixture(module: ProbeModule(prober: prober, timeout: .seconds(20)))
            .probe("\(scheme)tide.test:\(port)")
    }

    @Test(
        "Certificates in the module are trusted and shown, and so is one that is partly in a file",
        arguments: probers)
    func use(_ prober: ProbeModule.Prober) async throws {
        let authority = try await TestAuthority()
        let client = try await authority.sign(["client.test"])
        let server = try await Server(for: prober)
        let front = try await TLSFront(
            try await authority.sign(["tide.test"]), to: server.port, clientsOf: authority,
            protocols: server.protocols)
        var tls = ProbeTLSOptions()
        tls.ca = try Self.text(authority.certificate)
        let none = try await Self.probe(prober, front.port, tls)
        #expect(none.failure?.reason == "tls_failed" && none.failure?.party == .mine, "\(none.failure as Any)")
        #expect(server.count() == 0)
        (tls.certificate, tls.key) = (try Self.text(client.certificate), try Self.text(client.key))
        let texts = try await Self.probe(prober, front.port, tls)
        #expect(texts.value("probe_success") == 1, "\(texts.failure as Any)")
        (tls.key, tls.keyFile) = (nil, client.key)
        let keyFile = try await Self.probe(prober, front.port, tls)
        #expect(keyFile.value("probe_success") == 1, "\(keyFile.failure as Any)")
        (tls.certificate, tls.certificateFile) = (nil, client.certificate)
        (tls.key, tls.keyFile) = (try Self.text(client.key), nil)
        let certificateFile = try await Self.probe(prober, front.port, tls)
        #expect(certificateFile.value("probe_success") == 1, "\(certificateFile.failure as Any)")
        #expect(server.count() == 3)
    }

    @Test("Only the authorities in the module are trusted", arguments: probers)
    func otherAuthority(_ prober: ProbeModule.Prober) async throws {
        let (authority, other) = (try await TestAuthority(), try await TestAuthority())
        let server = try await Server(for: prober)
        let front = try await TLSFront(
            try await authority.sign(["tide.test"]), to: server.port, protocols: server.protocols)
        var tls = ProbeTLSOptions()
        tls.ca = try Self.text(other.certificate)
        let report = try await Self.probe(prober, front.port, tls)
        #expect(report.failure?.reason == "tls_failed" && report.failure?.party == .theirs)
        tls.ca = try Self.text(other.certificate) + Self.text(authority.certificate)
        #expect(try await Self.probe(prober, front.port, tls).value("probe_success") == 1)
    }

    @Test("A key of another certificate, and texts that are none, fail before anything is asked", arguments: probers)
    func wrongTexts(_ prober: ProbeModule.Prober) async throws {
        let authority = try await TestAuthority()
        let (client, other) = (try await authority.sign(["client.test"]), try await authority.sign(["other.test"]))
        let port = UInt16(try FreePort.find())
        func failure(_ change: (inout ProbeTLSOptions) throws -> Void) async throws -> ProbeReport.Failure? {
            var tls = ProbeTLSOptions()
            tls.ca = try Self.text(authority.certificate)
            (tls.certificate, tls.key) = (try Self.text(client.certificate), try Self.text(client.key))
            try change(&tls)
            let failure = try await Self.probe(prober, port, tls).failure
            #expect(failure?.reason == "file_error" && failure?.party == .mine)
            return failure
        }
        #expect(
            try await failure { $0.key = try Self.text(other.key) }?.text
                == "the client key tls_config.key is not that of the certificate tls_config.cert")
        #expect(
            try await failure { ($0.key, $0.keyFile) = (nil, other.key) }?.text
                == "the client key \(other.key) is not that of the certificate tls_config.cert")
        #expect(
            try await failure { ($0.certificate, $0.certificateFile) = (nil, "/nowhere") }?.text
                == "/nowhere cannot be read")
        #expect(
            try await failure { $0.key = "s3cret" }?.text
                == "the client key tls_config.key cannot be used: no key in PEM form without a passphrase in it")
        #expect(
            try await failure { $0.certificate = "none" }?.text
                == "the client certificate tls_config.cert cannot be used: no certificate in PEM form in it")
        #expect(try await failure { $0.ca = "none" }?.text == "tls_config.ca has no certificate in PEM")
    }
}
