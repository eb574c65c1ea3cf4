import Testing
import TidegateCore
import TidegateProbes

@testable import TidegateDaemon

/// A module's `icmp`.
@Suite struct ICMPProbeConfigurationTests {
    private static func module(_ yaml: String) throws -> ProbeModule {
        try #require(try Configuration.parse("modules: {m: \(yaml)}", file: "b.yml").probes.modules["m"])
    }

    @Test("Every key has its place, and without keys a module is blackbox_exporter's default")
    func keys() throws {
        let module = try Self.module(
            "{prober: icmp, timeout: 2s, icmp: {preferred_ip_protocol: ip4, ip_protocol_fallback: false, "
                + "source_ip_address: 192.0.2.1, source_interface: eth0, payload_size: 1400, dont_fragment: true, ttl: 5}}"
        )
        let icmp = try #require(module.icmp)
        #expect(icmp.family == FamilyPreference(.ipv4, allowsFallback: false) && module.timeout == .seconds(2))
        #expect(icmp.source.address == IPAddress("192.0.2.1") && icmp.source.interface == "eth0")
        #expect(icmp.payloadSize == 1400 && icmp.forbidsFragments && icmp.hopLimit == 5)
        #expect(try Self.module("{prober: icmp}").icmp == ICMPProbeOptions())
        #expect(try Self.module("{prober: icmp, icmp: {source_ip_address: \"\"}}").icmp == ICMPProbeOptions())
    }

    @Test(
        "A mistake is reported by line and key",
        arguments: [
            ("{ttl: -1}", "ttl: -1 is below the minimum of 0"),
            ("{ttl: 256}", "ttl: 256 is above the maximum of 255"),
            ("{ttl: a}", "ttl: expected a whole number, found \"a\""),
            ("{payload_size: -1}", "payload_size: -1 is below the minimum of 0"),
            ("{payload_size: 65508}", "payload_size: 65508 is above the maximum of 65507"),
            ("{source_ip_address: here}", "source_ip_address: \"here\" is not an IP address"),
            ("{source_interface: a b}", "source_interface: \"a b\" is not the name of an interface"),
            (
                "{source_interface: sixteen-letters-}",
                "source_interface: \"sixteen-letters-\" is not the name of an interface"
            ),
            ("{dont_fragment: perhaps}", "dont_fragment: expected true or false, found \"perhaps\""),
            ("{preferred_ip_protocol: ip5}", "preferred_ip_protocol: \"ip5\" is not ip4 or ip6"),
            ("{payload_sise: 3}", "payload_sise: unknown key (did you mean \"payload_size\"?)"),
        ])
    func mistakes(_ keys: String, _ message: String) {
        do throws(ConfigurationError) {
            _ = try Configuration.parse("modules: {m: {prober: icmp, icmp: \(keys)}}", file: "b.yml")
            Issue.record("accepted")
        } catch {
            #expect(error.description == "b.yml:1: modules.m.icmp." + message)
        }
    }
}
