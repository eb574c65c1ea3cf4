import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateProbes

@testable import TidegateDaemon

/// The keys of the prober grpc, and the file that Debian's package installs.
@Suite struct GRPCProbeConfigurationTests {
    private static func module(_ yaml: String) throws -> ProbeModule {
        let file = "modules:\n  m:\n" + yaml.split(separator: "\n").map { "    \($0)\n" }.joined()
        return try #require(try Configuration.parse(file, file: "b.yml").probes.modules["m"])
    }

    @Test("Every key has its place")
    func keys() throws {
        let module = try Self.module(
            """
            prober: grpc
            timeout: 5s
            grpc:
              service: service1
              preferred_ip_protocol: ip4
              ip_protocol_fallback: false
              tls: true
              tls_config: {server_name: 192.0.2.2, ca_file: /ca.pem}
              metadata:
                Authorization: Bearer s3cret
                x-tag: [a, b]
            """)
        let grpc = try #require(module.grpc)
        #expect(module.timeout == .seconds(5) && grpc.service == "service1")
        #expect(grpc.family == FamilyPreference(.ipv4, allowsFallback: false) && grpc.usesTLS)
        #expect(grpc.tls.serverName == "192.0.2.2" && grpc.tls.caFile == "/ca.pem")
        #expect(
            grpc.metadata.map { "\($0.name.canonicalName)=\($0.value)" } == [
                "authorization=Bearer s3cret", "x-tag=a", "x-tag=b",
            ])
        #expect(!module.text.contains("s3cret") && module.text.contains("metadata: <secret>"))
        #expect(try Self.module("prober: grpc").grpc == GRPCProbeOptions())
    }

    @Test(
        "What no call can carry is refused",
        arguments: [
            ("{service: [a]}", ".service: expected a string, found a list"),
            ("{metadata: [a]}", ".metadata: expected a mapping, found a list"),
            ("{metadata: {\"a b\": c}}", ".metadata.a b: \"a b\" is not the name of metadata"),
            ("{metadata: {\":path\": c}}", ".metadata.:path: \":path\" is not the name of metadata"),
            ("{metadata: {Grpc-Timeout: 1S}}", ".metadata.Grpc-Timeout: Grpc-Timeout cannot be set with metadata"),
            ("{metadata: {te: gzip}}", ".metadata.te: te cannot be set with metadata"),
            (
                "{metadata: {a: ä}}",
                ".metadata.a: the value of a has a character that metadata cannot carry"
            ),
            (
                "{tls_config: {cert_file: /a}}",
                ".tls_config: cert or cert_file has to be given together with key or key_file"
            ),
        ])
    func mistakes(_ keys: String, _ message: String) {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.parse("modules: {m: {prober: grpc, grpc: \(keys)}}", file: "b.yml")
        }
        #expect(error?.description == "b.yml:1: modules.m.grpc\(message)")
    }

    @Test("The file of Debian's package is accepted whole")
    func debian() throws {
        // /etc/prometheus/blackbox.yml of prometheus-blackbox-exporter 0.23.0-4, without its comments.
        let file = """
            modules:
              http_2xx:
                prober: http
              http_post_2xx:
                prober: http
                http:
                  method: POST
              tcp_connect:
                prober: tcp
              pop3s_banner:
                prober: tcp
                tcp:
                  query_response:
                  - expect: "^+OK"
                  tls: true
                  tls_config:
                    insecure_skip_verify: false
              grpc:
                prober: grpc
                grpc:
                  tls: true
                  preferred_ip_protocol: "ip4"
              grpc_plain:
                prober: grpc
                grpc:
                  tls: false
                  service: "service1"
              ssh_banner:
                prober: tcp
                tcp:
                  query_response:
                  - expect: "^SSH-2.0-"
                  - send: "SSH-2.0-blackbox-ssh-check"
              irc_banner:
                prober: tcp
                tcp:
                  query_response:
                  - send: "NICK prober"
                  - send: "USER prober prober prober :prober"
                  - expect: "PING :([^ ]+)"
                    send: "PONG ${1}"
                  - expect: "^:[^ ]+ 001"
              icmp:
                prober: icmp
              icmp_ttl5:
                prober: icmp
                timeout: 5s
                icmp:
                  ttl: 5
            """
        let modules = try Configuration.parse(file, file: "blackbox.yml").probes.modules
        #expect(
            modules.mapValues(\.prober.name) == [
                "http_2xx": "http", "http_post_2xx": "http", "tcp_connect": "tcp", "pop3s_banner": "tcp",
                "grpc": "grpc", "grpc_plain": "grpc", "ssh_banner": "tcp", "irc_banner": "tcp", "icmp": "icmp",
                "icmp_ttl5": "icmp",
            ])
        let (encrypted, plain) = (try #require(modules["grpc"]?.grpc), try #require(modules["grpc_plain"]?.grpc))
        #expect(encrypted.usesTLS && encrypted.family.family == .ipv4 && encrypted.service.isEmpty)
        #expect(!plain.usesTLS && plain.family.family == .ipv6 && plain.service == "service1")
    }
}
