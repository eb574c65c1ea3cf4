import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

@Suite(.enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"), .timeLimit(.minutes(5)))
struct GRPCProbeTLSTests {
    @Test("Over TLS the certificate is recorded, whatever the call's status, and the server's name is the call's")
    func series() async throws {
        let authority = try await TestAuthority()
        let server = try await GRPCServer(identity: try await authority.sign(["tide.test"])) { call in
            call.body.count > 5 ? .status("5") : .health(1)
        }
        for (service, status) in [("", 0.0), ("other", 5)] {
            let report = try await GRPCProbeFixture.probe("tide.test:\(server.port)") {
                $0.usesTLS = true
                $0.tls.caFile = authority.certificate
                $0.service = service
            }
            #expect(report.grpcStatus == status, "\(report.failure as Any)")
            #expect(report.value("probe_success") == (status == 0 ? 1 : 0))
            #expect(report.value("probe_grpc_ssl") == 1 && report.value("probe_tls_version_info", "TLS 1.3") == 1)
            #expect(report.value("probe_ssl_earliest_cert_expiry").map { $0 > 1_700_000_000 } == true)
            let info = try #require(report.families.first { $0.name == "probe_ssl_last_chain_info" }?.samples.first)
            #expect(info.labels[1] == "CN=tide.test" && info.labels[3] == "tide.test")
        }
        #expect(server.calls.map { $0.fields[":authority"] } == ["tide.test", "tide.test"])
        #expect(server.calls.allSatisfy { $0.fields[":scheme"] == "https" })
        let named = try await GRPCProbeFixture.probe("127.0.0.1:\(server.port)") {
            $0.usesTLS = true
            $0.tls.caFile = authority.certificate
            $0.tls.serverName = "tide.test"
        }
        #expect(named.value("probe_success") == 1 && server.calls.last?.fields[":authority"] == "tide.test")
    }

    @Test("A certificate that is not accepted fails before the call, without a series about TLS")
    func untrusted() async throws {
        let authority = try await TestAuthority()
        let server = try await GRPCServer(identity: try await authority.sign(["other.test"])) { _ in .health(1) }
        func probe(_ change: (inout GRPCProbeOptions) -> Void) async throws -> ProbeReport {
            try await GRPCProbeFixture.probe("tide.test:\(server.port)") {
                $0.usesTLS = true
                change(&$0)
            }
        }
        let name = try await probe { $0.tls.caFile = authority.certificate }
        #expect(name.failure?.reason == "tls_failed" && name.failure?.party == .theirs)
        #expect(name.failure?.text == "the certificate is for other.test and not for tide.test")
        #expect(name.grpcStatus == 14 && name.value("probe_grpc_ssl") == 0)
        #expect(!name.families.contains { $0.name.hasPrefix("probe_ssl") || $0.name.hasPrefix("probe_tls") })
        #expect(server.calls.isEmpty)
        #expect(try await probe { $0.tls.isInsecure = true }.value("probe_success") == 1)
        let file = try await probe { $0.tls.caFile = "/nowhere" }
        #expect(file.failure?.reason == "file_error" && file.failure?.party == .mine)
    }

    @Test("A server that does not choose HTTP/2 in the handshake is not called")
    func agreement() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["tide.test"])
        func probe(_ arguments: [String]) async throws -> ProbeReport {
            let server = try await TestTLSServer(identity, arguments: arguments)
            return try await GRPCProbeFixture.probe("tide.test:\(server.port)") {
                $0.usesTLS = true
                $0.tls.caFile = authority.certificate
            }
        }
        let none = try await probe([])
        #expect(none.failure?.reason == "protocol_error" && none.grpcStatus == 14, "\(none.failure as Any)")
        #expect(none.failure?.text == "the server did not choose HTTP/2 in the TLS handshake (ALPN)")
        let other = try await probe(["-alpn", "http/1.1"])
        #expect(other.failure?.reason == "tls_failed" && other.grpcStatus == 14, "\(other.failure as Any)")
        #expect(other.failure?.text == "the server refused the handshake: no application protocol")
    }

    @Test("A plain server does not answer the handshake of TLS, and an encrypted one no plain call")
    func mixed() async throws {
        let authority = try await TestAuthority()
        let plain = try await GRPCServer { _ in .health(1) }
        let encrypted = try await GRPCServer(identity: try await authority.sign(["tide.test"])) { _ in .health(1) }
        let first = try await GRPCProbeFixture.probe("tide.test:\(plain.port)") { $0.usesTLS = true }
        #expect(first.failure?.reason == "tls_failed" && first.failure?.party == .theirs, "\(first.failure as Any)")
        let second = try await GRPCProbeFixture.probe("tide.test:\(encrypted.port)")
        #expect(second.value("probe_success") == 0 && second.grpcStatus == 14, "\(second.failure as Any)")
        #expect(plain.calls.isEmpty && encrypted.calls.isEmpty)
    }
}
