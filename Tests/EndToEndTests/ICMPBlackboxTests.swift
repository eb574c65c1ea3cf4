import Testing
import TidegateTestKit

/// ICMP probes of loopback by blackbox_exporter and by tidegate.
@Suite(
    .enabled(if: BlackboxExporter.isInstalled, "prometheus-blackbox-exporter is not installed"),
    .enabled(if: NetworkNamespace.isAvailable, "needs root"), .timeLimit(.minutes(5))
)
struct ICMPBlackboxTests {
    private static let modules = """
        modules:
          icmp: {prober: icmp}
          icmp4: {prober: icmp, icmp: {preferred_ip_protocol: ip4}}
          large: {prober: icmp, icmp: {payload_size: 1400}}
          whole: {prober: icmp, icmp: {preferred_ip_protocol: ip4, dont_fragment: true}}
          source: {prober: icmp, icmp: {preferred_ip_protocol: ip4, source_ip_address: 127.0.0.7}}
          foreign: {prober: icmp, icmp: {preferred_ip_protocol: ip4, source_ip_address: 192.0.2.77}}
          strict: {prober: icmp, icmp: {preferred_ip_protocol: ip4, ip_protocol_fallback: false}}
        """

    @Test("Every series of blackbox_exporter is there, with the same value; only a lost packet has no time")
    func series() async throws {
        let comparison = try await BlackboxComparison(Self.modules)
        defer { comparison.stop() }
        for (module, targets) in [
            ("icmp", ["127.0.0.1", "::1"]), ("icmp4", ["127.0.0.1"]), ("large", ["127.0.0.1", "::1"]),
            ("whole", ["127.0.0.1"]), ("source", ["127.0.0.1"]),
        ] {
            for target in targets {
                let found = try await comparison.compare(module, target)
                #expect(
                    found["probe_success"] == "1" && found["probe_icmp_reply_hop_limit"] != nil, "\(module) \(target)")
            }
        }
        let lost = ["probe_icmp_duration_seconds{phase=\"rtt\"}"]
        for (module, target) in [("foreign", "127.0.0.1"), ("strict", "::1"), ("icmp", "nowhere.invalid")] {
            let found = try await comparison.compare(module, target, without: lost)
            #expect(found["probe_success"] == "0", "\(module) \(target)")
        }
    }
}
