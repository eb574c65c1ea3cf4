import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

@Suite(.enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"), .timeLimit(.minutes(5)))
struct TLSProbeTests {
    @Test("What a server shows in its handshake is measured")
    func details() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["tide.test", "www.tide.test"]))
        let report = try await ProbeFixture(.with { $0.tls.caFile = authority.certificate })
            .probe("https://tide.test:\(server.port)/")
        #expect(report.value("probe_success") == 1 && report.value("probe_http_ssl") == 1, "\(report.failure as Any)")
        #expect(report.phases == ["resolve", "connect", "tls", "processing", "transfer"])
        #expect(report.value("probe_tls_version_info", "TLS 1.3") == 1)
        #expect(report.value("probe_tls_cipher_info", "TLS_AES_256_GCM_SHA384") == 1)
        // 2045-01-01, and the authority's two days are over long before.
        #expect(report.value("probe_ssl_earliest_cert_expiry") == 2_366_841_600)
        let chain = try #require(report.value("probe_ssl_last_chain_expiry_timestamp_seconds"))
        #expect(chain < 2_366_841_600 && chain > 1_700_000_000)
        let info = try #require(report.families.first { $0.name == "probe_ssl_last_chain_info" }?.samples.first)
        #expect(info.labels[0].count == 64 && info.labels[1] == "CN=tide.test" && info.labels[2] == "CN=Test Authority")
        #expect(info.labels[3] == "tide.test,www.tide.test" && info.labels[4] == "1")
    }

    @Test("A certificate that is not trusted fails the probe; a module may ask for any, or for another name")
    func trust() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["tide.test"]))
        let target = "https://other.test:\(server.port)/"
        let untrusted = try await ProbeFixture().probe(target)
        #expect(untrusted.failure?.reason == "tls_failed" && untrusted.failure?.party == .theirs)
        #expect(untrusted.value("probe_http_ssl") == 0 && untrusted.value("probe_http_status_code") == 0)
        let insecure = try await ProbeFixture(.with { $0.tls.isInsecure = true }).probe(target)
        #expect(insecure.value("probe_success") == 1)
        #expect(insecure.value("probe_ssl_last_chain_expiry_timestamp_seconds") == -62_135_596_800)
        let named = try await ProbeFixture(
            .with {
                $0.tls.caFile = authority.certificate
                $0.tls.serverName = "tide.test"
            }
        ).probe(target)
        #expect(named.value("probe_success") == 1, "\(named.failure as Any)")
        let wrongName = try await ProbeFixture(.with { $0.tls.caFile = authority.certificate }).probe(target)
        #expect(wrongName.failure?.reason == "tls_failed")
    }

    @Test("http and tcp report a bad certificate in the same words")
    func certificateTexts() async throws {
        let authority = try await TestAuthority()
        for (identity, isKnown, text) in [
            (try await authority.sign(["other.test"]), true, "the certificate is for other.test and not for tide.test"),
            (try await authority.sign(["tide.test"], .past), true, "the certificate expired on "),
            (try await authority.sign(["tide.test"]), false, "the certificate is not signed by an authority that"),
            (try await authority.selfSigned("tide.test"), true, "the certificate is self-signed"),
            (
                try await authority.signSubject("tide.test"), true,
                "the certificate names no host: it has no subject alternative name, only the subject CN = tide.test"
            ),
        ] {
            let server = try await TestTLSServer(identity)
            let overHTTP = try await ProbeFixture(.with { $0.tls.caFile = isKnown ? authority.certificate : nil })
                .probe("https://tide.test:\(server.port)/")
            let overTCP = try await StreamProbe.tcp("tide.test:\(server.port)") {
                $0.usesTLS = true
                $0.tls.caFile = isKnown ? authority.certificate : nil
            }
            #expect(overHTTP.failure?.text.hasPrefix(text) == true, "\(overHTTP.failure as Any)")
            #expect(overTCP.failure?.text == overHTTP.failure?.text)
        }
    }

    @Test("An authority whose certificate has expired is named, and not the certificate that it signed")
    func expiredAuthority() async throws {
        let authority = try await TestAuthority()
        let between = try await authority.expiredIntermediate()
        let server = try await TestTLSServer(
            try await authority.sign("tide.test", by: between), arguments: ["-cert_chain", between.certificate])
        let text = "the certificate of the authority CN = Test Intermediate expired on 1 Feb 2024"
        let overHTTP = try await ProbeFixture(.with { $0.tls.caFile = authority.certificate })
            .probe("https://tide.test:\(server.port)/")
        #expect(overHTTP.failure?.text == text && overHTTP.failure?.party == .theirs)
        let overTCP = try await StreamProbe.tcp("tide.test:\(server.port)") {
            $0.usesTLS = true
            $0.tls.caFile = authority.certificate
        }
        #expect(overTCP.failure?.text == text)
    }

    @Test("Certificates and a key in the module itself do what files would")
    func inline() async throws {
        let authority = try await TestAuthority()
        let client = try await authority.sign(["client.test"])
        let server = try await TestTLSServer(
            try await authority.sign(["tide.test"]),
            arguments: ["-Verify", "1", "-verify_return_error", "-CAfile", authority.certificate])
        let target = "https://tide.test:\(server.port)/"
        func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
        let (ca, certificate, key) = (
            try text(authority.certificate), try text(client.certificate), try text(client.key)
        )
        let report = try await ProbeFixture(
            .with { ($0.tls.ca, $0.tls.certificate, $0.tls.key) = (ca, certificate, key) }
        ).probe(target)
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        let stranger = try await TestAuthority()
        let other = try text(stranger.certificate)
        let untrusted = try await ProbeFixture(
            .with { ($0.tls.ca, $0.tls.certificate, $0.tls.key) = (other, certificate, key) }
        ).probe(target)
        #expect(untrusted.failure?.reason == "tls_failed" && untrusted.failure?.party == .theirs)
        let unreadable = try await ProbeFixture(.with { $0.tls.ca = "-----BEGIN CERTIFICATE-----\n" }).probe(target)
        #expect(unreadable.failure?.reason == "file_error" && unreadable.failure?.party == .mine)
        #expect(unreadable.failure?.text == "tls_config.ca has no certificate in PEM")
        let foreign = try text(try await authority.sign(["x.test"]).key)
        let mismatched = try await ProbeFixture(
            .with { ($0.tls.ca, $0.tls.certificate, $0.tls.key) = (ca, certificate, foreign) }
        ).probe(target)
        #expect(mismatched.failure?.party == .mine, "\(mismatched.failure as Any)")
    }

    @Test("A server that refuses a certificate after the handshake, as TLS 1.3 allows, is reported as such")
    func refusedCertificate() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(
            try await authority.sign(["tide.test"]),
            arguments: ["-Verify", "1", "-verify_return_error", "-CAfile", authority.certificate])
        let report = try await ProbeFixture(.with { $0.tls.caFile = authority.certificate })
            .probe("https://tide.test:\(server.port)/")
        #expect(report.value("probe_success") == 0 && report.failure?.party == .mine, "\(report.failure as Any)")
    }

    @Test("A host that is an address is not connected to in place of the target")
    func addressAsHost() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["tide.test"]))
        let report = try await ProbeFixture(.with { $0.tls.isInsecure = true })
            .probe("https://tide.test:\(server.port)/", hostname: "127.0.0.9")
        // Nothing listens at 127.0.0.9.
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
    }

    @Test("TLS may be required, forbidden, or of a version that the server does not speak")
    func conditions() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["tide.test"]), arguments: ["-no_tls1_3"])
        let plain = try LiveServer { _ in .respond(text: "ok") }
        defer { plain.stop() }
        let target = "https://tide.test:\(server.port)/"
        func probe(_ target: String, _ change: (inout HTTPProbeOptions) -> Void) async throws -> ProbeReport {
            try await ProbeFixture(
                .with {
                    $0.tls.caFile = authority.certificate
                    change(&$0)
                }
            ).probe(target)
        }
        #expect(try await probe(target) { $0.failsIfTLS = true }.failure?.reason == "tls")
        #expect(try await probe(plain.url()) { $0.failsIfNotTLS = true }.failure?.reason == "no_tls")
        #expect(try await probe(target) { $0.failsIfNotTLS = true }.value("probe_success") == 1)
        #expect(try await probe(target) { $0.tls.minVersion = .v1_3 }.failure?.reason == "tls_failed")
        let old = try await probe(target) { $0.tls.maxVersion = .v1_2 }
        #expect(old.value("probe_tls_version_info", "TLS 1.2") == 1)
        #expect(try await probe(plain.url()) { $0.validVersions = ["HTTP/2.0"] }.failure?.reason == "version")
    }
}
