import Foundation
import Testing
import TidegateTestKit

@testable import TidegateDaemon

/// `promtool check web-config` says what a good file is.
@Suite(
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool"), "promtool is not installed"))
struct PromtoolTests {
    private static let hash = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
    private static let pair = "cert_file: cert.pem, key_file: key.pem"

    private static func tls(_ rest: String) -> String { "tls_server_config: {\(self.pair), \(rest)}" }

    // Files that both take.
    static let good = [
        "", "# nothing", "http_server_config: {http2: yes}", "tls_server_config:", "tls_server_config: {}",
        "tls_server_config: {\(pair)}",
        tls("min_version: TLS10, max_version: TLS11"), tls("min_version: TLS13"), tls("client_auth_type: NoClientCert"),
        tls("client_auth_type: RequestClientCert"), tls("client_auth_type: RequireClientCert"),
        tls("client_auth_type: RequireAnyClientCert, client_ca_file: ca.pem"),
        tls("client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.pem"),
        tls("client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem"),
        tls("client_auth_type: RequireAndVerifyClientCert"), tls("prefer_server_cipher_suites: false"),
        tls("cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256]"),
        tls("cipher_suites: []"), tls("curve_preferences: [CurveP256, CurveP384, CurveP521, X25519]"),
        "http_server_config: {http2: false}", "http_server_config: {headers: {}}",
        "http_server_config: {headers: {X-Frame-Options: deny, X-Content-Type-Options: nosniff}}",
        "http_server_config: {headers: {Content-Security-Policy: \"\", X-XSS-Protection: 1}}",
        "basic_auth_users: {}", "basic_auth_users: {ann: \(hash), bob: \(hash)}",
        "basic_auth_users: {ann: \(hash.replacing("$2y$", with: "$2a$"))}",
        "basic_auth_users: {ann: \(hash.replacing("$2y$", with: "$2b$"))}",
        "tls_server_config: {\(pair)}\nhttp_server_config:\nbasic_auth_users: {1: \(hash)}",
    ]

    // Files that both refuse.
    static let bad = [
        "x: 1", "[1]", "tls_server_config: {", "tls_server_config: 1", "tls_server_config: {x: 1}",
        "tls_server_config: {cert_file: cert.pem}", "tls_server_config: {key_file: key.pem}",
        "tls_server_config: {client_auth_type: NoClientCert}", "tls_server_config: {client_ca_file: ca.pem}",
        "tls_server_config: {cert_file: none.pem, key_file: key.pem}",
        "tls_server_config: {cert_file: cert.pem, key_file: none.pem}",
        "tls_server_config: {cert_file: text.pem, key_file: key.pem}",
        "tls_server_config: {cert_file: cert.pem, key_file: text.pem}",
        "tls_server_config: {cert_file: cert.pem, key_file: other-key.pem}",
        "tls_server_config: {cert_file: cert.pem, cert_file: cert.pem, key_file: key.pem}",
        tls("client_auth_type: requireandverifyclientcert"), tls("client_ca_file: ca.pem"),
        tls("client_ca_file: none.pem, client_auth_type: RequireAndVerifyClientCert"),
        tls("min_version: tls12"), tls("max_version: TLS14"), tls("cipher_suites: [TLS_NULL]"),
        tls("curve_preferences: [P256]"), tls("prefer_server_cipher_suites: perhaps"),
        "http_server_config: {http2: perhaps}", "http_server_config: {http3: true}",
        "http_server_config: {headers: {Server: x}}", "http_server_config: {headers: {x-frame-options: deny}}",
        "http_server_config: {headers: {X-Frame-Options: DENY}}",
        "http_server_config: {headers: {X-Frame-Options: \"\"}}", "http_server_config: {headers: [1]}",
        "basic_auth_users: {ann: secret}", "basic_auth_users: {ann: }", "basic_auth_users: [ann]",
        "basic_auth_users: {ann: \(hash.replacing("$10$", with: "$03$"))}",
        "basic_auth_users: {ann: \(hash.replacing("$10$", with: "$32$"))}",
        "basic_auth_users: {ann: \(hash.replacing("$2y$", with: "$3y$"))}",
        "basic_auth_users: {ann: \(hash), ann: \(hash)}", "rate_limit: {interval: x, burst: 1}",
    ]

    // What promtool takes and Tidegate does not, and why.
    static let stricter = [
        // TLS would stay off although the file asks for a certain version.
        "tls_server_config: {min_version: TLS12}",
        // No handshake could ever succeed.
        tls("min_version: TLS13, max_version: TLS12"),
        // No client could ever be verified.
        tls("client_ca_file: text.pem, client_auth_type: RequireAndVerifyClientCert"),
        // Go's bcrypt takes any letter after the 2, and looks at nothing but the beginning of a hash.
        "basic_auth_users: {ann: \(hash.replacing("$2y$", with: "$2x$"))}", "basic_auth_users: {ann: \(hash)x}",
        // Every password would take minutes.
        "basic_auth_users: {ann: \(hash.replacing("$10$", with: "$19$"))}",
        // A client cannot send such a name.
        "basic_auth_users: {\"a:b\": \(hash)}",
    ]

    // What an old promtool does not know yet.
    static let newer = [
        "rate_limit: {interval: 1s, burst: 20}", "tls_server_config: {\(pair), client_ca: null}",
        tls("client_allowed_sans: [a.example], client_auth_type: RequireAnyClientCert"),
    ]

    @Test("promtool and Tidegate agree about files, except where it is on purpose")
    func agreement() async throws {
        let folder = try await WebFolder()
        for (files, promtool, tidegate) in [
            (Self.good, true, true), (Self.bad, false, false), (Self.stricter, true, false),
        ] {
            for text in files {
                let complaint = try folder.complaint(about: text)
                #expect((complaint == nil) == tidegate, "\(text): \(complaint ?? "good")")
                let other = try await Program.run(["promtool", "check", "web-config", folder.file])
                #expect((other.status == 0) == promtool, "\(text): \(other)")
            }
        }
        for text in Self.newer { #expect(try folder.complaint(about: text) == nil, "\(text)") }
    }
}
