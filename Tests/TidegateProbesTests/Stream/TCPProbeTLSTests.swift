import Foundation
import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

@Suite(.enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"), .timeLimit(.minutes(5)))
struct TCPProbeTLSTests {
    @Test("An address needs a certificate for the address, a name one for the name")
    func names() async throws {
        let authority = try await TestAuthority()
        func probe(_ names: [String], _ target: String) async throws -> ProbeReport {
            let server = try await TestTLSServer(try await authority.sign(names), arguments: ["-no_tls1_3"])
            return try await StreamProbe.tcp("\(target):\(server.port)", names: ["localhost": [ProbeFixture.loopback]])
            {
                $0.usesTLS = true
                $0.tls.caFile = authority.certificate
            }
        }
        let noAddress = try await probe(["localhost"], "127.0.0.1")
        #expect(noAddress.failure?.reason == "tls_failed" && noAddress.failure?.party == .theirs)
        #expect(noAddress.failure?.text == "the certificate is for localhost and not for 127.0.0.1")
        #expect(noAddress.value("probe_ssl_earliest_cert_expiry") == nil)
        #expect(try await probe(["localhost", "IP:127.0.0.1"], "127.0.0.1").value("probe_success") == 1)
        let named = try await probe(["localhost"], "localhost")
        #expect(named.value("probe_success") == 1, "\(named.failure as Any)")
        #expect(named.value("probe_tls_version_info", "TLS 1.2") == 1)
        #expect(named.value("probe_ssl_earliest_cert_expiry") == 2_366_841_600)
        let info = try #require(named.families.first { $0.name == "probe_ssl_last_chain_info" }?.samples.first)
        #expect(info.value == 1 && info.labels[1] == "CN=localhost" && info.labels[3] == "localhost")
        #expect(!named.families.contains { $0.name == "probe_tls_cipher_info" })
    }

    @Test("Of two chains the older root ends first, and the verified one with the server's certificate")
    func chains() async throws {
        let authority = try await TestAuthority()
        let folder = URL(fileURLWithPath: authority.certificate).deletingLastPathComponent().path
        // The same key in an authority of its own that lives for years, and the server's certificate for a month.
        try await Program.expect([
            "sh", "-ec",
            """
            cd '\(folder)'
            openssl req -x509 -key ca.key -days 3650 -subj '/CN=Test Authority' -out new.pem
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=tide.test -keyout s.key -out s.csr
            printf 'subjectAltName=DNS:tide.test\\n' > s.ext
            openssl x509 -req -days 30 -in s.csr -CA ca.pem -CAkey ca.key -set_serial 7 -extfile s.ext -out s.pem
            """,
        ])
        let server = try await TestTLSServer(
            TestAuthority.Identity(certificate: "\(folder)/s.pem", key: "\(folder)/s.key"),
            arguments: ["-cert_chain", authority.certificate])
        let report = try await StreamProbe.tcp("tide.test:\(server.port)") {
            $0.usesTLS = true
            $0.tls.caFile = "\(folder)/new.pem"
        }
        let earliest = try #require(report.value("probe_ssl_earliest_cert_expiry"), "\(report.failure as Any)")
        let last = try #require(report.value("probe_ssl_last_chain_expiry_timestamp_seconds"))
        // Two days and thirty.
        #expect((27...29).contains(((last - earliest) / 86_400).rounded()))
    }

    @Test("SMTP: the connection is encrypted in the middle of the dialogue")
    func startTLS() async throws {
        let authority = try await TestAuthority()
        let server = try await ScriptedServer(
            [
                .send("220 ESMTP StartTLS pseudo-server\n"), .readLine,
                .send("250-pseudo-server.example.net\n250-STARTTLS\n250 DSN\n"), .readLine,
                .send("220 2.0.0 Ready to start TLS\n250 injected\n"), .startTLS, .readLine,
                .send("250-pseudo-server.example.net\n250 DSN\n"), .readLine, .send("221 2.0.0 Bye\n"),
            ], identity: try await authority.sign(["tide.test"]))
        let report = try await StreamProbe.tcp("tide.test:\(server.port)") {
            $0.tls.caFile = authority.certificate
            $0.dialogue = [
                try .expect("^220.*ESMTP.*$"), .send("EHLO prober"), try .expect("^250-STARTTLS"), .send("STARTTLS"),
                try .expect("^220"), .startTLS, .send("EHLO prober"),
                try .expect("^250[ -](DSN|injected)", send: "QUIT ${1}"),
                try .expect("^221"),
            ]
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(server.lines == ["EHLO prober", "STARTTLS", "EHLO prober", "QUIT DSN"])
        #expect(report.value("probe_tls_version_info", "TLS 1.3") == 1)
        let chain = try #require(report.value("probe_ssl_last_chain_expiry_timestamp_seconds"))
        #expect(chain < 2_366_841_600 && chain > 1_700_000_000)
        let phases = report.families.first { $0.name == "probe_tcp_duration_seconds" }?.samples.map { $0.labels[0] }
        #expect(Set(phases ?? []) == ["resolve", "connect", "query", "tls"])
    }

    @Test("The parameter hostname names the server, unless the module does")
    func hostname() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["foo.example.com"]))
        func probe(_ text: String, _ change: (inout StreamProbeOptions) -> Void = { _ in }) async throws -> ProbeReport
        {
            try await StreamProbe.tcp("127.0.0.1:\(server.port)", hostname: "foo.example.com", text: text) {
                $0.usesTLS = true
                $0.tls.caFile = authority.certificate
                change(&$0)
            }
        }
        let report = try await probe("prober: tcp\ntcp:\n  tls: true\n  tls_config:\n    ca_file: /ca\ntimeout: 5s\n")
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(
            report.configuration
                == "prober: tcp\ntcp:\n  tls: true\n  tls_config:\n    server_name: foo.example.com\n    ca_file: /ca\n"
                + "timeout: 5s\n")
        #expect(
            try await probe("prober: tcp\n").configuration
                == "prober: tcp\ntcp:\n  tls_config:\n    server_name: foo.example.com\n")
        #expect(
            try await probe("prober: tcp\ntcp: {}\ntimeout: 5s\n").configuration
                == "prober: tcp\ntcp:\n  tls_config:\n    server_name: foo.example.com\ntimeout: 5s\n")
        let own = try await probe("prober: tcp\n") { $0.tls.serverName = "bar.example.com" }
        #expect(own.failure?.reason == "tls_failed" && own.configuration == "prober: tcp\n")
    }

    @Test("A certificate that nothing vouches for fails, unless any will do")
    func trust() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["tide.test"], .past))
        func probe(_ change: (inout StreamProbeOptions) -> Void) async throws -> ProbeReport {
            try await StreamProbe.tcp("tide.test:\(server.port)") {
                $0.usesTLS = true
                change(&$0)
            }
        }
        #expect(
            try await probe { _ in }.failure?.text.hasPrefix("the certificate is not signed by an authority") == true)
        #expect(
            try await probe { $0.tls.caFile = authority.certificate }.failure?.text
                == "the certificate expired on 1 Feb 2024")
        let insecure = try await probe { $0.tls.isInsecure = true }
        #expect(insecure.value("probe_success") == 1, "\(insecure.failure as Any)")
        #expect(insecure.value("probe_ssl_last_chain_expiry_timestamp_seconds") == -62_135_596_800)
        #expect(try await probe { $0.tls.caFile = "/nowhere" }.failure?.reason == "file_error")
    }

    @Test("Without verification a certificate may be for any name, and without a name for any address")
    func insecureName() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.sign(["elsewhere.test"]))
        for target in ["tide.test:\(server.port)", "127.0.0.1:\(server.port)"] {
            let verified = try await StreamProbe.tcp(target) {
                $0.usesTLS = true
                $0.tls.caFile = authority.certificate
            }
            #expect(verified.failure?.reason == "tls_failed" && verified.failure?.party == .theirs)
            let insecure = try await StreamProbe.tcp(target) {
                $0.usesTLS = true
                $0.tls.isInsecure = true
            }
            #expect(insecure.value("probe_success") == 1, "\(insecure.failure as Any)")
        }
    }

    @Test("A server that wants a certificate blames this host, which has none or shows one")
    func clientCertificate() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["tide.test"])
        let server = try await TestTLSServer(
            identity, arguments: ["-no_tls1_3", "-Verify", "1", "-CAfile", authority.certificate])
        func probe(_ change: (inout StreamProbeOptions) -> Void) async throws -> ProbeReport {
            try await StreamProbe.tcp("tide.test:\(server.port)") {
                $0.usesTLS = true
                $0.tls.caFile = authority.certificate
                change(&$0)
            }
        }
        let shown = try await probe {
            $0.tls.certificateFile = identity.certificate
            $0.tls.keyFile = identity.key
        }
        #expect(shown.value("probe_success") == 1, "\(shown.failure as Any)")
        let none = try await probe { _ in }
        #expect(none.failure?.reason == "tls_failed", "\(none.failure as Any)")
        #expect(none.failure?.text == "the server refused the handshake: handshake failure")
    }

    @Test("In TLS 1.3 a server refuses a certificate after the handshake, which fails the probe as before it")
    func refusedLater() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(
            try await authority.sign(["tide.test"]),
            arguments: ["-tls1_3", "-Verify", "1", "-verify_return_error", "-CAfile", authority.certificate])
        let report = try await StreamProbe.tcp("tide.test:\(server.port)") {
            $0.usesTLS = true
            $0.tls.caFile = authority.certificate
            $0.dialogue = [.send("GET / HTTP/1.0\r\n"), try .expect("HTTP")]
        }
        #expect(report.failure?.reason == "tls_failed" && report.failure?.party == .mine, "\(report.failure as Any)")
        #expect(report.failure?.text == "the server refused the handshake: certificate required")
    }

    @Test("Certificates and a key in the module itself do what files would")
    func inline() async throws {
        let authority = try await TestAuthority()
        let client = try await authority.sign(["client.test"])
        let server = try await TestTLSServer(
            try await authority.sign(["tide.test"]),
            arguments: ["-Verify", "1", "-verify_return_error", "-CAfile", authority.certificate])
        func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
        func probe(_ change: (inout ProbeTLSOptions) throws -> Void) async throws -> ProbeReport {
            try await StreamProbe.tcp("tide.test:\(server.port)") {
                $0.usesTLS = true
                $0.tls.ca = try text(authority.certificate)
                $0.tls.certificate = try text(client.certificate)
                $0.tls.key = try text(client.key)
                try change(&$0.tls)
            }
        }
        let shown = try await probe { _ in }
        #expect(shown.value("probe_success") == 1, "\(shown.failure as Any)")
        let none = try await probe { $0.ca = "no certificate" }
        #expect(none.failure?.text == "tls_config.ca has no certificate in PEM" && none.failure?.party == .mine)
        let broken = try await probe { $0.key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n" }
        #expect(
            broken.failure?.text
                == "the client key tls_config.key cannot be used: no key in PEM form without a passphrase in it")
    }

    @Test(
        "What is not TLS fails the handshake",
        arguments: [
            ([ScriptedServer.Step.send("SSH-2.0-OpenSSH_9.2\r\n"), .hang], "tls_failed"), ([.hang], "timed_out"),
        ])
    func malformed(_ steps: [ScriptedServer.Step], _ reason: String) async throws {
        let server = try await ScriptedServer(steps)
        let limit: Duration = reason == "timed_out" ? .milliseconds(500) : .seconds(60)
        let report = try await StreamProbe.tcp("127.0.0.1:\(server.port)", timeout: limit) {
            $0.usesTLS = true
        }
        #expect(report.failure?.reason == reason && report.failure?.party == .theirs, "\(report.failure as Any)")
        #expect(!report.families.contains { $0.name.hasPrefix("probe_ssl") })
    }
}
