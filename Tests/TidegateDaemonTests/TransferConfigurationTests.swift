import Testing
import Tidegate
import TidegateCore

@testable import TidegateDaemon

/// Whom the sidecar's transfers trust, and which way they go.
@Suite struct TransferConfigurationTests {
    private static let pin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    private static func parse(_ text: String) throws -> Configuration {
        try Configuration.parse("transfers: \(text)\n", file: "t.yml")
    }

    @Test("Every key of transfers.tls is read")
    func tls() throws {
        let transfers = try Self.parse(
            """
            {tls: {ca_file: /ca.pem, cert_file: /c.pem, key_file: /c.key, pins: {"*": ["\(Self.pin)"]},
              validate_host_name: false, hosts: {a.example: {insecure: true}}}}
            """
        ).transfers
        #expect(
            transfers.session.tls
                == ServerTrustPolicy(
                    caFile: "/ca.pem", pins: ["*": [Self.pin]], validatesHostName: false, clientCertificate: "/c.pem",
                    clientKey: "/c.key", hosts: ["a.example": ServerTrustPolicy(isInsecure: true)]))
    }

    @Test("One proxy is for http and https, with exceptions")
    func proxy() throws {
        let transfers = try Self.parse("{proxy: \"socks5h://p.example:1080\", no_proxy: [.example, 192.0.2.0/24]}")
            .transfers
        #expect(
            transfers.session.proxy
                == ProxyPolicy("socks5h://p.example:1080", exceptions: [".example", "192.0.2.0/24"]))
    }

    @Test(
        "Every mistake is named with its key",
        arguments: [
            (
                "{tls: {pins: {a.example: [x]}}}",
                "transfers.tls.pins.a.example: \"x\" is neither sha256// and the hash of a public key in base64, nor the "
                    + "64 hexadecimal digits of a certificate's SHA-256 fingerprint"
            ),
            ("{tls: {pins: {a.example: x}}}", "transfers.tls.pins.a.example: expected a list, found \"x\""),
            ("{tls: {pins: [x]}}", "transfers.tls.pins: expected a mapping, found a list"),
            ("{tls: {pins: {a b: []}}}", "transfers.tls.pins.a b: \"a b\" is not a host"),
            ("{tls: {key_file: /k}}", "transfers.tls: a client key needs its certificate"),
            ("{tls: {validate_host_name: false}}", "transfers.tls: names are validated unless a host has pins"),
            ("{tls: {hosts: {a.example: {hosts: {}}}}}", "transfers.tls.hosts.a.example.hosts: unknown key"),
            (
                "{no_proxy: [\"*.example\", \"192.0.2.*\"]}",
                "transfers.no_proxy[1]: \"192.0.2.*\" is not a host, a domain such as .example.com or *.example.com, "
                    + "an address or a network"
            ),
            ("{tls: {hosts: {a.example: 3}}}", "transfers.tls.hosts.a.example: expected a mapping, found \"3\""),
        ])
    func mistakes(_ text: String, _ message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try Self.parse(text) }
        #expect(error.description == "t.yml:1: \(message)")
    }
}
