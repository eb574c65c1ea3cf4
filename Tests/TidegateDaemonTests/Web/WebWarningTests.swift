import Foundation
import Testing
import Tidegate
import TidegateTestKit

@testable import TidegateDaemon

/// Keys of web.yml that have no effect here are no mistakes: other exporters may use the same file.
@Suite(.enabled(if: TestAuthority.isAvailable, "openssl is not installed")) struct WebWarningTests {
    @Test("A key without effect is named with its reason, and the file is accepted")
    func warnings() async throws {
        let folder = try await WebFolder()
        try folder.write(
            """
            http_server_config: {http2: true}
            tls_server_config:
              cert_file: cert.pem
              key_file: key.pem
              prefer_server_cipher_suites: true
              cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]
            """)
        let file = folder.look()
        #expect(throws: Never.self) { try file.result.get() }
        #expect(file.warnings.count == 3)
        #expect(file.warnings[0] == "http_server_config.http2 has no effect: the endpoint speaks HTTP/1.1 only")
        #expect(file.warnings[1].hasPrefix("tls_server_config.prefer_server_cipher_suites has no effect: "))
        #expect(file.warnings[2].contains("cipher_suites: TLS_AES_128_GCM_SHA256 has no effect: "))
    }

    @Test("A password whose hash costs more than 14 is named with its user")
    func expensive() async throws {
        let folder = try await WebFolder()
        let end = "$" + String(repeating: "a", count: 53)
        try folder.write("basic_auth_users: {ann: $2y$15\(end), bob: $2y$14\(end)}\n")
        let warnings = folder.look().warnings
        #expect(warnings.count == 1)
        #expect(warnings.first?.hasPrefix("basic_auth_users.ann: the bcrypt cost 15 takes ") == true)
    }

    @Test("A private key that every user may read is named with its mode")
    func readableKey() async throws {
        let folder = try await WebFolder()
        try folder.write("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n")
        let key = "\(folder.path)/key.pem"
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
        #expect(
            folder.look().warnings == ["\(key) has secrets, and every user may read it (mode 0644): chmod o-rwx \(key)"]
        )
    }

    @Test("The configuration names its files with secrets")
    func secretFiles() throws {
        let text = """
            remote_write: {url: "http://a/", basic_auth: {username: u, password_file: /p}}
            tasks: [{name: a, url: "http://a/", every: 1m, headers_file: /h}]
            """
        #expect(try Configuration.parse(text, file: "t.yml").secretFiles == ["/p", "/h"])
    }

    @Test("A file whose keys all have an effect has no warning")
    func none() async throws {
        let folder = try await WebFolder()
        try folder.write(
            "http_server_config: {http2: false}\ntls_server_config: {cert_file: cert.pem, key_file: key.pem}\n")
        #expect(folder.look().warnings.isEmpty)
    }
}
