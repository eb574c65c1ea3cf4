import Testing
import Tidegate
import TidegateProbes

@testable import TidegateDaemon

/// The keys of a module's `tls_config`.
@Suite struct ProbeTLSConfigurationTests {
    private static func module(_ yaml: String) throws -> ProbeModule {
        let file = "modules:\n  m:\n" + yaml.split(separator: "\n").map { "    \($0)\n" }.joined()
        return try #require(try Configuration.parse(file, file: "b.yml").probes.modules["m"])
    }

    @Test("A server's name has no dot at its end, and an empty text is none")
    func serverName() throws {
        for (text, name) in [("b.example.", "b.example"), ("", nil), ("b.example", "b.example")] {
            let module = try Self.module("prober: http\nhttp: {tls_config: {server_name: \"\(text)\"}}")
            #expect(module.http.tls.serverName == name)
        }
    }

    @Test("Certificates may stand in the module, and the key is not shown")
    func inlineCertificates() throws {
        func quoted(_ kind: String) -> String { "-----BEGIN \(kind)-----\\nAA==\\n-----END \(kind)-----" }
        let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----"
        let module = try Self.module(
            """
            prober: tcp
            tcp:
              tls_config:
                ca: "\(quoted("CERTIFICATE"))"
                cert: "\(quoted("CERTIFICATE"))"
                key: "\(quoted("PRIVATE KEY"))"
            """)
        #expect(module.tcp.tls.ca == certificate && module.tcp.tls.certificate == certificate)
        #expect(module.tcp.tls.key == "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----")
        #expect(module.text.contains("key: <secret>") && !module.text.contains("PRIVATE KEY"), "\(module.text)")
    }

    @Test(
        "A mistake is reported by line and key, and no message quotes a key",
        arguments: [
            (
                "{min_version: TLS13, max_version: TLS12}",
                ": min_version is above max_version"
            ),
            (
                "{cert_file: /a}",
                ": cert or cert_file has to be given together with key or key_file"
            ),
            (
                "{ca: a}",
                ".ca: the text is not in PEM (-----BEGIN ...)"
            ),
            (
                "{ca: \"-----BEGIN CERTIFICATE-----\", ca_file: /a}",
                ": ca and ca_file are mutually exclusive"
            ),
            (
                "{key: \"-----BEGIN PRIVATE KEY-----\"}",
                ": cert or cert_file has to be given together with key or key_file"
            ),
            (
                "{cert_ref: x}",
                ".cert_ref: needs a secret manager; give cert or cert_file"
            ),
            (
                "{server_name: \"a:443\"}",
                ".server_name: \"a:443\" has a port, which belongs into the target"
            ),
        ])
    func mistakes(_ keys: String, _ message: String) {
        do throws(ConfigurationError) {
            _ = try Configuration.parse("modules: {m: {prober: http, http: {tls_config: \(keys)}}}", file: "b.yml")
            Issue.record("accepted")
        } catch {
            #expect(error.description == "b.yml:1: modules.m.http.tls_config\(message)")
        }
    }
}
