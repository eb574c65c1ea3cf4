internal import HTTPTypes
import Foundation
import Testing
import TidegateTestKit

@testable import TidegateDaemon
@testable import TidegateServer

@Suite(.enabled(if: TestAuthority.isAvailable, "openssl is not installed")) struct WebFileTests {
    private static let hash = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
    private static let pair = "cert_file: cert.pem, key_file: key.pem"

    // Every kind of mistake, each with the whole message.
    static let mistakes: [(String, String)] = [
        ("tls_server_confg: {}", "1: tls_server_confg: unknown key (did you mean \"tls_server_config\"?)"),
        ("tls_server_config: [1]", "1: tls_server_config: expected a mapping, found a list"),
        ("- 1", "1: expected a mapping, found a list"),
        ("tls_server_config: {", "2: invalid YAML: did not find expected node content (column 1)"),
        ("rate_limit: {}\nrate_limit: {}", "1: duplicate key \"rate_limit\""),
        (
            "tls_server_config:\n  certfile: x",
            "2: tls_server_config.certfile: unknown key (did you mean \"cert_file\"?)"
        ),
        ("tls_server_config: {cert_file: cert.pem}", "1: tls_server_config: missing key \"key_file\""),
        ("tls_server_config: {key_file: key.pem}", "1: tls_server_config: missing key \"cert_file\""),
        (
            "tls_server_config: {min_version: TLS12}",
            "1: tls_server_config: missing key \"cert_file\"\n"
                + "DIR/web.yml:1: tls_server_config: missing key \"key_file\""
        ),
        (
            "tls_server_config: {cert: x, \(pair)}",
            "1: tls_server_config: \"cert\" and \"cert_file\" are mutually exclusive"
        ),
        (
            "tls_server_config: {cert_file: none.pem, key_file: key.pem}",
            "1: tls_server_config.cert_file: DIR/none.pem cannot be read: No such file or directory"
        ),
        (
            "tls_server_config:\n  cert_file: cert.pem\n  key_file: /nowhere/key.pem",
            "3: tls_server_config.key_file: /nowhere/key.pem cannot be read: No such file or directory"
        ),
        (
            "tls_server_config: {cert_file: ./, key_file: key.pem}",
            "1: tls_server_config.cert_file: \"./\" is not a file path"
        ),
        (
            "tls_server_config: {cert_file: text.pem, key_file: key.pem}",
            "1: tls_server_config.cert_file: contains no PEM certificate"
        ),
        (
            "tls_server_config: {cert_file: cert.pem, key_file: text.pem}",
            "1: tls_server_config.key_file: contains no PEM private key without a passphrase"
        ),
        (
            "tls_server_config:\n  cert_file: cert.pem\n  key_file: other-key.pem",
            "3: tls_server_config.key_file: does not match the certificate"
        ),
        (
            "tls_server_config: {\(pair), min_version: TLS14}",
            "1: tls_server_config.min_version: \"TLS14\" is not one of TLS10, TLS11, TLS12, TLS13"
        ),
        (
            "tls_server_config: {\(pair), min_version: TLS13, max_version: TLS12}",
            "1: tls_server_config: \"min_version\" is newer than \"max_version\""
        ),
        (
            "tls_server_config: {\(pair), max_version: TLS11}",
            "1: tls_server_config: \"min_version\" is newer than \"max_version\""
        ),
        (
            "tls_server_config: {\(pair), curve_preferences: [X25519, P256]}",
            "1: tls_server_config.curve_preferences[1]: "
                + "\"P256\" is not one of CurveP256, CurveP384, CurveP521, X25519"
        ),
        (
            "tls_server_config: {\(pair), cipher_suites: TLS_AES_128_GCM_SHA256}",
            "1: tls_server_config.cipher_suites: expected a list, found \"TLS_AES_128_GCM_SHA256\""
        ),
        (
            "tls_server_config: {\(pair), cipher_suites: [TLS_AES_128_GCM_SHA256], max_version: TLS12}",
            "1: tls_server_config: has no cipher suite for any allowed version"
        ),
        (
            "tls_server_config: {\(pair), prefer_server_cipher_suites: perhaps}",
            "1: tls_server_config.prefer_server_cipher_suites: expected true or false, found \"perhaps\""
        ),
        (
            "tls_server_config: {\(pair), client_auth_type: RequireCert}",
            "1: tls_server_config.client_auth_type: \"RequireCert\" is not one of NoClientCert, RequestClientCert, "
                + "RequireAnyClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert"
        ),
        (
            "tls_server_config: {\(pair), client_ca_file: ca.pem}",
            "1: tls_server_config.client_ca_file: requires a \"client_auth_type\" that requests certificates"
        ),
        (
            "tls_server_config: {\(pair), client_ca_file: text.pem, client_auth_type: RequireAndVerifyClientCert}",
            "1: tls_server_config.client_ca_file: contains no PEM certificate"
        ),
        (
            "tls_server_config: {\(pair), client_allowed_sans: [a], client_auth_type: VerifyClientCertIfGiven}",
            "1: tls_server_config.client_allowed_sans: requires the \"client_auth_type\" RequireAndVerifyClientCert or "
                + "RequireAnyClientCert"
        ),
        (
            "tls_server_config: {\(pair), client_allowed_sans: [], client_auth_type: RequireAnyClientCert}",
            "1: tls_server_config.client_allowed_sans: expected at least one name; omit the key to allow all"
        ),
        ("http_server_config: {http2: 2}", "1: http_server_config.http2: expected true or false, found \"2\""),
        (
            "http_server_config:\n  headers:\n    x-frame-options: deny",
            "3: http_server_config.headers.x-frame-options: this header cannot be configured"
        ),
        (
            "http_server_config: {headers: {X-Frame-Option: deny}}",
            "1: http_server_config.headers.X-Frame-Option: this header cannot be configured "
                + "(did you mean \"X-Frame-Options\"?)"
        ),
        (
            "http_server_config: {headers: {X-Frame-Options: allow}}",
            "1: http_server_config.headers.X-Frame-Options: \"allow\" is not one of deny, sameorigin"
        ),
        (
            "http_server_config: {headers: {Content-Security-Policy: \"a\\nb\"}}",
            "1: http_server_config.headers.Content-Security-Policy: contains a control character"
        ),
        (
            "http_server_config: {headers: [X-Frame-Options]}",
            "1: http_server_config.headers: expected a mapping, found a list"
        ),
        (
            "basic_auth_users:\n  ann: secret",
            "2: basic_auth_users.ann: not a bcrypt hash; generate one with htpasswd -nBC 10 NAME"
        ),
        (
            "basic_auth_users: {ann: }",
            "1: basic_auth_users.ann: not a bcrypt hash; generate one with htpasswd -nBC 10 NAME"
        ),
        ("basic_auth_users: [ann]", "1: basic_auth_users: expected a mapping, found a list"),
        (
            "basic_auth_users: {ann: \(hash.replacing("$10$", with: "$20$"))}",
            "1: basic_auth_users.ann: bcrypt cost 20 is out of range (4 to 18)"
        ),
        ("basic_auth_users: {\"a:b\": \(hash)}", "1: basic_auth_users.a:b: a user name must not contain a colon"),
        (
            "rate_limit: {interval: 1}",
            "1: rate_limit.interval: \"1\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
        ),
        ("rate_limit: {interval: 1s, burst: -1}", "1: rate_limit.burst: -1 is below the minimum of 0"),
        ("rate_limit: {interval: 1s, burst: many}", "1: rate_limit.burst: expected a whole number, found \"many\""),
    ]

    @Test("Every mistake is named with its file, line and key")
    func mistakeMessages() async throws {
        let folder = try await WebFolder()
        for (text, message) in Self.mistakes {
            let complaint = try folder.complaint(about: text)
            #expect(complaint == "DIR/web.yml:\(message)", "\(text)")
        }
        try FileManager.default.removeItem(atPath: folder.file)
        let error = #expect(throws: ConfigurationError.self) { try folder.look().result.get() }
        #expect(error?.description == "\(folder.file): cannot be read: No such file or directory")
    }

    @Test("A full file is read whole")
    func fullFile() async throws {
        let folder = try await WebFolder()
        let text = """
            tls_server_config:
              cert_file: cert.pem
              key_file: \(folder.path)/key.pem
              client_ca_file: ca.pem
              client_auth_type: RequireAndVerifyClientCert
              client_allowed_sans: [a.example, 192.0.2.1]
              min_version: TLS12
              max_version: TLS13
              cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]
              curve_preferences: [X25519, CurveP256]
              prefer_server_cipher_suites: true
            http_server_config:
              http2: true
              headers: {X-Frame-Options: sameorigin, Strict-Transport-Security: max-age=60, X-XSS-Protection: null}
            basic_auth_users: {ann: \(Self.hash)}
            rate_limit: {interval: 100ms, burst: 20}
            """
        try folder.write(text)
        let access = try folder.look().result.get()
        #expect(access.isEncrypted && access.hasUsers)
        #expect(access.users["ann"]?.cost == 10)
        #expect(access.headers.map(\.value) == ["sameorigin", "max-age=60"])
        #expect(access.rate == RateLimit(interval: .milliseconds(100), burst: 20))
    }

    @Test("Certificates may stand in the file itself, and a file may say nothing")
    func inline() async throws {
        let folder = try await WebFolder()
        func block(_ name: String) throws -> String {
            try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8).split(separator: "\n")
                .map { "\n    \($0)" }.joined()
        }
        try folder.write(
            "tls_server_config:\n  cert: |\(try block("cert.pem"))\n  key: |\(try block("key.pem"))\n"
                + "  client_ca: |\(try block("ca.pem"))\n  client_auth_type: RequireClientCert\n")
        #expect(try folder.look().result.get().isEncrypted)
        for text in [
            "", "# nothing\n", "tls_server_config:\n", "tls_server_config: {}\n", "rate_limit: {interval: 0}\n",
        ] {
            #expect(try folder.complaint(about: text) == nil, "\(text)")
            let access = try folder.look().result.get()
            #expect(!access.isEncrypted && !access.hasUsers && access.rate == nil)
        }
    }

    @Test("A rate without a burst starts, as in exporter-toolkit", arguments: ["", ", burst: 0"])
    func noBurst(_ burst: String) async throws {
        let folder = try await WebFolder()
        try folder.write("rate_limit: {interval: 1s\(burst)}\n")
        #expect(try folder.look().result.get().rate == RateLimit(interval: .seconds(1), burst: 0))
    }

    @Test("A key with a passphrase is refused without a prompt")
    func passphrase() async throws {
        let folder = try await WebFolder()
        try await Program.expect([
            "openssl", "ec", "-in", "\(folder.path)/key.pem", "-aes128", "-passout", "pass:x", "-out",
            "\(folder.path)/locked.pem",
        ])
        let complaint = try folder.complaint(about: "tls_server_config: {cert_file: cert.pem, key_file: locked.pem}")
        #expect(complaint?.contains("key_file: contains no PEM private key without a passphrase") == true)
    }
}
