import Foundation
import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

@testable import TidegateDaemon

/// `tls_config` of modules: certificates in the file itself, and `server_name`.
@Suite(.enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"))
struct ProbeTLSConfigurationTests {
    private static func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private static func quoted(_ text: String) -> String { "\"\(text.replacing("\n", with: "\\n"))\"" }

    private static func module(_ yaml: String) throws -> ProbeModule {
        try #require(try Configuration.parse("modules: {m: \(yaml)}", file: "b.yml").probes.modules["m"])
    }

    private static func problem(_ keys: String) -> String? {
        do throws(ConfigurationError) {
            _ = try Configuration.parse("modules: {m: {prober: http, http: {tls_config: {\(keys)}}}}", file: "b.yml")
            return nil
        } catch {
            return error.description.replacing("b.yml:1: modules.m.http.tls_config", with: "")
        }
    }

    @Test("Certificates and their key stand in the file as texts, in every prober over TLS, and the key is not shown")
    func texts() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["client.test"])
        let (ca, certificate, key) = try (
            Self.text(authority.certificate), Self.text(identity.certificate), Self.text(identity.key)
        )
        func block(_ text: String) -> String {
            "|\n" + text.split(separator: "\n").map { "                \($0)\n" }.joined()
        }
        let tls = """
            tls_config:
              ca: \(block(ca))\
              cert: \(block(certificate))\
              key: \(block(key))
            """
        var expected = ProbeTLSOptions()
        (expected.ca, expected.certificate, expected.key) = (ca, certificate, key)
        let sections: [(String, (ProbeModule) -> ProbeTLSOptions?)] = [
            ("http", { $0.http?.tls }), ("tcp", { $0.tcp?.tls }), ("unix", { $0.unix?.tls }),
            ("grpc", { $0.grpc?.tls }), ("dns", { $0.dns?.tls }), ("websocket", { $0.websocket?.tls }),
        ]
        for (prober, options) in sections {
            let isNested = prober == "websocket"
            let lines = tls.split(separator: "\n").map { (isNested ? "        " : "      ") + $0 + "\n" }.joined()
            let file = """
                modules:
                  m:
                    prober: \(prober)
                    \(prober):
                \(prober == "dns" ? "      query_name: a\n" : "")\(isNested ? "      http_config:\n" : "")\(lines)
                """
            let module = try #require(try Configuration.parse(file, file: "b.yml").probes.modules["m"])
            #expect(options(module) == expected, "\(prober)")
            #expect(module.text.contains("key: <secret>\n") && module.text.contains("BEGIN CERTIFICATE"))
            let secret = try #require(key.split(separator: "\n").dropFirst().first)
            #expect(!module.text.contains(secret) && !module.text.contains("PRIVATE KEY"))
        }
    }

    @Test("A text and a file of the same are refused, and so are halves, keys of others and references to secrets")
    func refused() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["client.test"])
        let other = try await authority.sign(["other.test"])
        let certificate = Self.quoted(try Self.text(identity.certificate))
        let key = Self.quoted(try Self.text(identity.key))
        let otherKey = Self.quoted(try Self.text(other.key))
        #expect(Self.problem("cert: \(certificate), key: \(key)") == nil)
        #expect(Self.problem("cert: \(certificate), key_file: /key.pem") == nil)
        #expect(Self.problem("cert_file: /cert.pem, key: \(key)") == nil)
        #expect(Self.problem("ca: \"\", cert: \"\", key: \"\"") == nil)
        #expect(Self.problem("ca: \(certificate), ca_file: /ca.pem") == ": ca and ca_file are mutually exclusive")
        #expect(
            Self.problem("cert: \(certificate), cert_file: /c.pem, key: \(key)")
                == ": cert and cert_file are mutually exclusive")
        #expect(
            Self.problem("cert: \(certificate), key_file: /key.pem, key: \(key)")
                == ": key and key_file are mutually exclusive")
        let half = ": cert or cert_file has to be given together with key or key_file"
        #expect(Self.problem("cert: \(certificate)") == half)
        #expect(Self.problem("cert_file: /a") == half)
        #expect(Self.problem("key: \(key)") == half)
        #expect(
            Self.problem("cert: \(certificate), key: \(otherKey)") == ": key does not match the certificate in cert")
        #expect(Self.problem("ca_ref: a") == ".ca_ref: needs a secret manager; give ca or ca_file")
        #expect(Self.problem("cert_ref: a") == ".cert_ref: needs a secret manager; give cert or cert_file")
        #expect(Self.problem("key_ref: a") == ".key_ref: needs a secret manager; give key or key_file")
    }

    @Test("What is no certificate or no key is refused without being quoted")
    func malformed() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["client.test"])
        // A key on a single line, as YAML folds it without a `|`.
        let folded = try Self.text(identity.key).replacing("\n", with: " ")
        let none = "the text contains no PEM certificate"
        #expect(Self.problem("ca: s3cret") == ".ca: \(none)")
        #expect(Self.problem("ca: [s3cret]") == ".ca: expected a text in PEM")
        let certificate = Self.quoted(try Self.text(identity.certificate))
        for key in ["s3cret", Self.quoted(folded), certificate] {
            #expect(
                Self.problem("cert_file: /c.pem, key: \(key)")?.split(separator: "\n").first
                    == ".key: the text contains no PEM key without a passphrase")
        }
        #expect(Self.problem("cert_file: /c.pem, key: {s3cret: s3cret}")?.contains("s3cret") == false)
    }

    @Test("An empty name counts as none, a final dot does not count, and an address is taken")
    func serverName() throws {
        func name(_ text: String) throws -> String? {
            try #require(
                try Self.module("{prober: http, http: {proxy_url: \"http://p:1\", tls_config: {server_name: \(text)}}}")
                    .http
            ).tls.serverName
        }
        #expect(try name("\"\"") == nil && name("null") == nil)
        #expect(try name("Tide.test.") == "tide.test")
        #expect(try name("192.0.2.9") == "192.0.2.9" && name("\"2001:db8::9\"") == "2001:db8::9")
        #expect(try name("\"[2001:db8::9]\"") == "2001:db8::9")
        #expect(
            Self.problem("server_name: \"tide.test:443\"")
                == ".server_name: \"tide.test:443\" has a port, which certificates do not cover")
        #expect(Self.problem("server_name: \"a b\"") == ".server_name: \"a b\" is not a host name")
        let unix = "{prober: unix, unix: {tls: true, tls_config: {server_name: \"\"}}}"
        #expect(throws: ConfigurationError.self) { try Self.module(unix) }
        let tokens = try Self.module(
            "{prober: http, http: {oauth2: {client_id: a, token_url: \"https://a/\", tls_config: {server_name: b}}}}")
        #expect(tokens.http?.oauth2?.tls.serverName == "b")
    }

    @Test(
        "Versions that do not exist, or leave none, are refused with their key and line, whatever the prober",
        arguments: ["http", "tcp", "unix", "grpc", "dns", "websocket", "oauth2"])
    func versions(_ prober: String) throws {
        let (head, section) =
            switch prober {
            case "websocket": ("prober: websocket, websocket: {http_config: {", "websocket.http_config")
            case "oauth2": ("prober: http, http: {oauth2: {client_id: a, token_url: \"https://a/\",", "http.oauth2")
            case "dns": ("prober: dns, dns: {query_name: a,", "dns")
            default: ("prober: \(prober), \(prober): {", prober)
            }
        let closing = String(repeating: "}", count: head.count { $0 == "{" } + 1)
        func problem(_ keys: [String]) -> String? {
            let lines = keys.map { "    \($0)" }.joined(separator: ",\n")
            do throws(ConfigurationError) {
                _ = try Configuration.parse(
                    "modules:\n  m: {\(head) tls_config: {\n\(lines)}\(closing)\n", file: "b.yml")
                return nil
            } catch {
                return error.description
            }
        }
        let names = "is not a TLS version (TLS10, TLS11, TLS12 or TLS13)"
        let key = "modules.m.\(section).tls_config"
        #expect(problem(["min_version: TLS12", "max_version: TLS13"]) == nil)
        #expect(problem(["min_version: TLS12", "max_version: TLS12"]) == nil)
        #expect(problem(["max_version: TLS10"]) == nil)
        #expect(
            problem(["min_version: TLS12", "max_version: TLS14"]) == "b.yml:4: \(key).max_version: \"TLS14\" \(names)")
        #expect(problem(["min_version: tls12"]) == "b.yml:3: \(key).min_version: \"tls12\" \(names)")
        #expect(problem(["min_version: 1.2"]) == "b.yml:3: \(key).min_version: \"1.2\" \(names)")
        #expect(
            problem(["max_version: [TLS12]"])?.hasPrefix("b.yml:3: \(key).max_version: expected a TLS version") == true)
        #expect(
            problem(["min_version: TLS13", "max_version: TLS12"]) == "b.yml:2: \(key): min_version is above max_version"
        )
        #expect(problem(["minversion: TLS12"])?.hasPrefix("b.yml:3: \(key).minversion: unknown key") == true)
        #expect(
            problem(["insecure_skip_verify: maybe"])?.hasPrefix("b.yml:3: \(key).insecure_skip_verify: ") == true)
    }

    @Test("http and tcp have the source's address and interface")
    func source() throws {
        let keys = "{source_ip_address: 192.0.2.1, source_interface: eth0}"
        var expected = ProbeSource()
        (expected.address, expected.interface) = (IPAddress("192.0.2.1"), "eth0")
        #expect(try Self.module("{prober: http, http: \(keys)}").http?.source == expected)
        #expect(try Self.module("{prober: tcp, tcp: \(keys)}").tcp?.source == expected)
        #expect(try Self.module("{prober: http, http: {source_ip_address: \"\"}}").http?.source == ProbeSource())
        for prober in ["http", "tcp"] {
            #expect(throws: ConfigurationError.self) {
                try Self.module("{prober: \(prober), \(prober): {source_interface: \"a/b\"}}")
            }
        }
    }
}
