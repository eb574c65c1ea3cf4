import Testing
import TidegateTestKit

/// ICMP probes of the program itself, in the situations that blackbox_exporter's series do not tell apart.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(5)))
struct ICMPSituationTests {
    private static let modules = "modules: {icmp: {prober: icmp, timeout: 30s}}"

    @Test("An answer, an absent host, no route, no carrier and a link that is off are told apart")
    func situations() async throws {
        let (bench, hosts) = (try EndToEndFixture(), try TwoHosts())
        try bench.write(Self.modules, to: "icmp.yml")
        func check(
            _ target: String, _ status: Int32, _ info: String, _ sentence: String,
            _ location: SourceLocation = #_sourceLocation
        ) async throws {
            let command = [
                BuiltProduct.path(of: "tidegate"), "probe", "--config.file", bench.path("icmp.yml"), "icmp", target,
            ]
            let output = try await Program.run(hosts.onThisSide(command))
            #expect(output.status == status, "\(output)", sourceLocation: location)
            #expect(output.output.contains("probe_gated \(status == 3 ? 1 : 0)\n"), sourceLocation: location)
            #expect(output.output.contains(info), "\(output)", sourceLocation: location)
            #expect(sentence.isEmpty || output.errors.contains(sentence), "\(output)", sourceLocation: location)
        }
        try await check(TwoHosts.peer, 0, "probe_icmp_reply_hop_limit 64", "")
        try await check(
            "10.77.0.9", 1, "{reason=\"unreachable\",party=\"theirs\"} 1",
            "10.77.0.9 does not answer on uplink")
        let noPath = "{reason=\"no_path\",party=\"mine\"} 1"
        try hosts.ip("route del default")
        try await check("192.0.2.1", 3, noPath, "no route")
        try hosts.pullCable()
        try await check(TwoHosts.peer, 3, noPath, "uplink has no carrier")
        try hosts.ip("link set uplink down")
        try await check(TwoHosts.peer, 3, noPath, "uplink is switched off")
    }
}
