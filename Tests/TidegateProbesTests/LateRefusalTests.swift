import Testing
import TidegateCore
@testable import TidegateProbes
import TidegateTestKit

/// In TLS 1.3 a server looks at the client's certificate when the client's own handshake is over (RFC 8446 2).
@Suite(.enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"), .timeLimit(.minutes(5)))
struct LateRefusalTests {
    // How the prober comes to its answer.
    enum Manner: String, CaseIterable, Sendable {
        case http, tcp, tcpWithDialogue, grpc, websocket
    }

    private static func module(_ manner: Manner, _ tls: ProbeTLSOptions) throws -> ProbeModule {
        let prober: ProbeModule.Prober =
            switch manner {
            case .http: .http(.with { $0.tls = tls })
            case .tcp: .tcp(.with { ($0.tls, $0.usesTLS) = (tls, true) })
            case .tcpWithDialogue:
                .tcp(
                    try .with {
                        ($0.tls, $0.usesTLS) = (tls, true)
                        $0.dialogue = [.send("GET / HTTP/1.0\r\n\r"), try .expect("^HTTP/1.0 200")]
                    })
            case .grpc: .grpc(.with { ($0.tls, $0.usesTLS) = (tls, true) })
            case .websocket: .websocket(.with { $0.tls = tls })
            }
        return ProbeModule(prober: prober, timeout: .seconds(20))
    }

    private static func target(_ manner: Manner, _ port: UInt16) -> String {
        switch manner {
        case .http: "https://tide.test:\(port)/"
        case .tcp, .tcpWithDialogue, .grpc: "tide.test:\(port)"
        case .websocket: "wss://tide.test:\(port)/"
        }
    }

    @Test("A certificate that the server does not accept fails the probe, which says so", arguments: Manner.allCases)
    func refused(_ manner: Manner) async throws {
        let (authority, stranger) = (try await TestAuthority(), try await TestAuthority())
        let (identity, other) = (try await authority.sign(["tide.test"]), try await stranger.sign(["me.test"]))
        let server = try await TestTLSServer(
            identity,
            arguments: ["-tls1_3", "-Verify", "1", "-verify_return_error", "-CAfile", authority.certificate]
                + (manner == .grpc ? ["-alpn", "h2"] : []))
        func probe(_ shown: TestAuthority.Identity) async throws -> ProbeReport {
            var tls = ProbeTLSOptions()
            tls.caFile = authority.certificate
            (tls.certificateFile, tls.keyFile) = (shown.certificate, shown.key)
            return try await ProbeFixture(module: try Self.module(manner, tls))
                .probe(Self.target(manner, server.port))
        }
        let refused = try await probe(other)
        #expect(refused.value("probe_success") == 0)
        #expect(refused.failure?.reason == "tls_failed" && refused.failure?.party == .mine, "\(refused.failure as Any)")
        #expect(
            refused.failure?.text
                == (manner == .http
                    ? "the server refused the client certificate \(other.certificate)"
                    : "the server refused the handshake: unknown authority"))
        // The same server takes one of its authority, and those probers' requests.
        let taken = try await probe(identity)
        let isServed = [.http, .tcp, .tcpWithDialogue].contains(manner)
        #expect(taken.value("probe_success") == (isServed ? 1 : 0), "\(taken.failure as Any)")
        #expect(taken.failure?.reason != "tls_failed")
    }

    @Test(
        "A server that wants a certificate of a probe that has none says so",
        arguments: [Manner.http, .tcpWithDialogue])
    func required(_ manner: Manner) async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(
            try await authority.sign(["tide.test"]),
            arguments: ["-tls1_3", "-Verify", "1", "-CAfile", authority.certificate])
        var tls = ProbeTLSOptions()
        tls.caFile = authority.certificate
        let report = try await ProbeFixture(module: try Self.module(manner, tls))
            .probe(Self.target(manner, server.port))
        #expect(report.failure?.reason == "tls_failed" && report.failure?.party == .mine, "\(report.failure as Any)")
        #expect(
            report.failure?.text
                == (manner == .http
                    ? "the server requires a client certificate, and none is configured for it"
                    : "the server refused the handshake: certificate required"))
    }
}
