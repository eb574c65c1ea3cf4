import Testing
import TidegateCore
import TidegateProbes
import TidegateCEL

@testable import TidegateDaemon

/// The keys of the probers tcp and unix.
@Suite struct StreamProbeConfigurationTests {
    private static func module(_ yaml: String) throws -> ProbeModule {
        let file = "modules:\n  m:\n" + yaml.split(separator: "\n").map { "    \($0)\n" }.joined()
        return try #require(try Configuration.parse(file, file: "b.yml").probes.modules["m"])
    }

    @Test("Every key has its place")
    func keys() throws {
        let module = try Self.module(
            """
            prober: tcp
            tcp:
              preferred_ip_protocol: ip4
              ip_protocol_fallback: false
              source_ip_address: 192.0.2.1
              source_interface: eth1
              query_response:
                - expect: "^SSH-(.*)"
                  send: "OK ${1}"
                  starttls: true
                  labels: [{name: version, value: "${1}"}]
                - expect_bytes: "+PONG"
              tls: true
              tls_config: {server_name: 192.0.2.2, max_version: TLS12}
            """)
        let tcp = try #require(module.tcp)
        #expect(tcp.family == FamilyPreference(.ipv4, allowsFallback: false))
        #expect(
            tcp.source.address == IPAddress("192.0.2.1") && tcp.source.interface == "eth1" && tcp.usesTLS
                && tcp.dialogue.count == 2)
        #expect(tcp.dialogue[0].expect?.pattern == "^SSH-(.*)" && tcp.dialogue[0].send == "OK ${1}")
        #expect(tcp.dialogue[0].startsTLS && tcp.dialogue[0].labels.map(\.name) == ["version"])
        #expect(tcp.dialogue[1].expectedBytes == Array("+PONG".utf8) && tcp.dialogue[1].expect == nil)
        #expect(tcp.tls.serverName == "192.0.2.2" && tcp.tls.maxVersion == .v1_2)
        #expect(try Self.module("prober: tcp").tcp == StreamProbeOptions())
        let unix = try Self.module("prober: unix\nunix: {query_response: [{send: PING}]}")
        #expect(unix.unix?.dialogue.map(\.send) == ["PING"])
    }

    @Test(
        "Labels that no metric can have are refused",
        arguments: [
            ("[{expect: a, labels: [{name: 1a, value: b}]}]", "[0]: \"1a\" is not the name of a label"),
            ("[{send: a, labels: [{name: a, value: b}]}]", "[0]: labels need an expect in the same entry"),
            ("[{expect: a, labels: [{name: a}, {name: a}]}]", "[0]: labels have a name twice"),
            (
                "[{expect: a, labels: [{name: a}]}, {expect: a, labels: [{name: b}]}]",
                "[1]: labels may stand in one entry of query_response only"
            ),
        ])
    func labels(_ steps: String, _ message: String) {
        let error = #expect(throws: ConfigurationError.self) {
            try Self.module("{prober: tcp, tcp: {query_response: \(steps)}}")
        }
        #expect("\(error as Any)".contains("modules.m.tcp.query_response\(message)"), "\(error as Any)")
    }
}
