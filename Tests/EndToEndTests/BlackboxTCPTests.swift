import Testing
import TidegateTestKit

/// The same probes over TCP by blackbox_exporter and by tidegate.
@Suite(
    .enabled(if: BlackboxExporter.isInstalled, "prometheus-blackbox-exporter is not installed"), .timeLimit(.minutes(5))
)
struct BlackboxTCPTests {
    private static let modules = """
        modules:
          connect: {prober: tcp, timeout: 5s}
          ip6: {prober: tcp, tcp: {preferred_ip_protocol: ip6, ip_protocol_fallback: false}}
          source: {prober: tcp, tcp: {source_ip_address: 127.0.0.3}}
          greeting: {prober: tcp, timeout: 2s, tcp: {query_response: [{expect: "^220 (.*)$", send: "EHLO ${1}"}, {expect: "^250"}]}}
          other: {prober: tcp, timeout: 2s, tcp: {query_response: [{expect: "^NOTHING$"}]}}
          smtp:
            prober: tcp
            timeout: 5s
            tcp:
              query_response:
                - expect: "^220"
                - send: EHLO prober
                - expect: "^250"
                - send: STARTTLS
                - expect: "^220"
                - starttls: true
                - send: EHLO prober
                - expect: "^250"
              tls_config: {ca_file: CA}
          tls: {prober: tcp, tcp: {tls: true, tls_config: {ca_file: CA}}}
          tls_system: {prober: tcp, tcp: {tls: true}}
          tls_named: {prober: tcp, tcp: {tls: true, tls_config: {ca_file: CA, server_name: other.example}}}
          tls_insecure: {prober: tcp, tcp: {tls: true, tls_config: {insecure_skip_verify: true}}}
        """

    @Test("Every series of blackbox_exporter is there, with the same value")
    func series() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["localhost", "IP:127.0.0.1"])
        let encrypted = try await TestTLSServer(identity)
        let old = try await TestTLSServer(identity, arguments: ["-no_tls1_3"])
        let silent = try await ScriptedServer([.hang])
        let mail = try await ScriptedServer(
            [
                .send("220 mail.example ESMTP\r\n"), .readLine, .send("250-mail.example\r\n250 STARTTLS\r\n"),
                .readLine,
                .send("220 ready\r\n"), .startTLS, .readLine, .send("250 mail.example\r\n"),
            ], identity: identity)
        let closing = try await ScriptedServer([.send("554 no\n")])
        let long = try await ScriptedServer([.flood(String(repeating: "a", count: 8192))])
        let comparison = try await BlackboxComparison(Self.modules.replacing("CA", with: authority.certificate))
        defer { comparison.stop() }
        let closed = try FreePort.find()
        for (module, port) in [
            ("connect", silent.port), ("connect", mail.port), ("source", silent.port), ("greeting", mail.port),
            ("greeting", closing.port), ("greeting", silent.port), ("other", mail.port), ("other", closing.port),
            ("other", long.port), ("smtp", mail.port), ("smtp", closing.port), ("tls", encrypted.port),
            ("tls", old.port), ("tls", closing.port), ("tls_system", encrypted.port), ("tls_named", encrypted.port),
            ("tls_insecure", encrypted.port), ("ip6", silent.port), ("connect", UInt16(closed)),
        ] {
            try await comparison.compare(module, "127.0.0.1:\(port)")
        }
        for target in ["127.0.0.1", ":0", "nowhere.invalid:1"] { try await comparison.compare("connect", target) }
        let found = try await comparison.compare("smtp", "127.0.0.1:\(mail.port)")
        #expect(found["probe_success"] == "1")
    }
}
