import Foundation
import Testing
import TidegateTestKit

/// Scheduled probes through an outage of this host's own, an outage of the target and a target that is too slow.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(5)))
struct ScheduledProbeTests {
    private let bench: EndToEndFixture
    private let hosts: TwoHosts

    init() throws {
        (self.bench, self.hosts) = (try EndToEndFixture(), try TwoHosts())
    }

    @Test("Our outage is inconclusive and not charged, theirs is a failure of theirs, and a slow target overruns")
    func outages() async throws {
        try self.bench.write(String(repeating: "x", count: 3000), to: "slow")
        // 3,000 bytes at 1,000 a second: longer than the probe's interval, within its timeout.
        try await self.bench.startNginx(
            on: self.hosts, rate: "1m",
            servers: "server { listen \(TwoHosts.peer):81; root \(self.bench.folder.path); limit_rate 1000; }")
        let down = "  - {name: down, module: quick, target: \"http://\(TwoHosts.peer):82/\", every: 1s}"
        let serve = try await self.bench.startDaemon(
            Self.configuration(also: down), prefix: self.hosts.onThisSide([]))
        try await self.expect("the first runs", of: serve) {
            $0.runs("up", "success") >= 1 && $0.runs("down", "failure") >= 1
        }
        let info = "tidegate_probe_failure_info{probe=\"down\",reason=\"connect_failed\",party=\"theirs\"}"
        var samples = try await serve.metrics()
        #expect(samples[info] == 1 && samples["tidegate_probe_success{probe=\"down\"}"] == 0)
        #expect(samples["tidegate_probe_uptime_ratio{probe=\"up\"}"] == 1)
        try await self.expect("an overrun", of: serve) {
            $0["tidegate_probe_overruns_total{probe=\"slow\"}"] ?? 0 >= 1 && $0.runs("slow", "success") >= 1
        }

        try self.hosts.pullCable()
        try await self.expect("runs without a path", of: serve) {
            $0.runs("up", "inconclusive") >= 2 && $0.runs("down", "inconclusive") >= 2
        }
        samples = try await serve.metrics()
        let (known, failed) = (samples.runs("up", "success"), samples.runs("down", "failure"))
        try await self.expect("more of them", of: serve) { $0.runs("up", "inconclusive") >= 4 }
        samples = try await serve.metrics()
        #expect(samples.runs("up", "success") == known && samples.runs("down", "failure") == failed)
        try self.hosts.plugCable()
        try await self.expect("what is known after the outage", of: serve) {
            $0.runs("up", "success") > known && $0.runs("down", "failure") > failed
        }
        samples = try await serve.metrics()
        #expect(samples.runs("up", "failure") == 0)
        #expect(samples["tidegate_probe_uptime_ratio{probe=\"up\"}"] == 1, "our own outage is not charged")
        #expect(samples["tidegate_probe_uptime_ratio{probe=\"down\"}"] == 0)

        try self.bench.write(Self.configuration(also: ""), to: "tidegate.yml")
        serve.program.signal(SIGHUP)
        try await self.expect("the removed probe's series to go", of: serve) { $0[info] == nil }
        #expect(try await serve.metrics().runs("up", "success") > known, "what has not changed goes on")
        await serve.stop()
    }

    // The gateway is there and drops what is to be forwarded: nothing beyond it answers.
    @Test(
        "A server that hangs on the own link fails and is the server's, host and gateway alike, while the provider is dead"
    )
    func hungNeighbour() async throws {
        try await Program.expect(self.hosts.onPeer(["ip", "addr", "add", "\(TwoHosts.neighbour)/24", "dev", "cable"]))
        try await self.bench.start(
            self.hosts.onPeer([
                "python3", "-uc",
                "import socket, time; s = socket.create_server(('', 83)); print('listening'); time.sleep(600)",
            ]), until: "listening")
        try await Program.expect(
            self.hosts.onPeer([
                "nft", "table inet mute { chain in { type filter hook input priority 0; tcp dport 84 drop; }; }",
            ]))
        let serve = try await self.bench.startDaemon(
            """
            modules: {quick: {prober: http, timeout: 500ms}}
            probes:
              - {name: away, module: quick, target: "http://198.51.100.7/", every: 1s}
              - {name: host, module: quick, target: "http://\(TwoHosts.neighbour):83/", every: 1s}
              - {name: gateway, module: quick, target: "http://\(TwoHosts.peer):83/", every: 1s}
              - {name: mute, module: quick, target: "http://\(TwoHosts.neighbour):84/", every: 1s}
            """, prefix: self.hosts.onThisSide([]))
        func info(_ probe: String, _ party: String) -> String {
            "tidegate_probe_failure_info{probe=\"\(probe)\",reason=\"timed_out\",party=\"\(party)\"}"
        }
        try await self.expect("the provider's outage", of: serve) {
            $0.runs("away", "inconclusive") >= 3 && $0.runs("mute", "failure") >= 1
        }
        let before = try await serve.metrics()
        try await self.expect("failures of the neighbours'", of: serve) { samples in
            ["host", "gateway", "mute"].allSatisfy { samples.runs($0, "failure") >= before.runs($0, "failure") + 3 }
        }
        let after = try await serve.metrics()
        for probe in ["host", "gateway", "mute"] {
            #expect(after.runs(probe, "inconclusive") == before.runs(probe, "inconclusive"))
            #expect(after[info(probe, "theirs")] == 1)
            #expect(after["tidegate_probe_success{probe=\"\(probe)\"}"] == 0)
        }
        #expect(after.runs("away", "failure") == 0)
    }

    @Test("A probe from a source address that this host does not have is inconclusive, and no incident")
    func ownSource() async throws {
        let serve = try await self.bench.startDaemon(
            """
            modules: {away: {prober: tcp, timeout: 500ms, tcp: {source_ip_address: 203.0.113.9}}}
            probes: [{name: away, module: away, target: "\(TwoHosts.peer):82", every: 1s}]
            """, prefix: self.hosts.onThisSide([]))
        try await self.expect("runs without the address", of: serve) { $0.runs("away", "inconclusive") >= 3 }
        let samples = try await serve.metrics()
        #expect(samples.runs("away", "failure") == 0 && samples.runs("away", "success") == 0)
        let probes = try await serve.get("/api/v1/probes")
        #expect(probes.contains("this host does not have the source address 203.0.113.9"), "\(probes)")
        #expect(probes.contains(#""party":"mine""#) && probes.contains(#""uptime":null"#), "\(probes)")
        let incidents = try await serve.get("/api/v1/incidents")
        #expect(incidents.contains(#""incidents":[]"#), "\(incidents)")
        await serve.stop()
    }

    private static func configuration(also line: String) -> String {
        """
        modules:
          quick: {prober: http, timeout: 500ms}
          patient: {prober: http, timeout: 10s}
        probes:
          - {name: up, module: quick, target: "http://\(TwoHosts.peer)/nginx.conf", every: 1s}
          - {name: slow, module: patient, target: "http://\(TwoHosts.peer):81/slow", every: 1s}
        \(line)
        """
    }

    private func expect(_ what: String, of serve: RunningDaemon, _ isTrue: @escaping (Samples) -> Bool) async throws {
        let isMet = try await eventually { isTrue(try await serve.metrics()) }
        let probes = try await serve.get("/metrics").split(separator: "\n").filter {
            $0.hasPrefix("tidegate_probe_runs") || $0.hasPrefix("tidegate_probe_failure")
        }
        try #require(isMet, "\(what)\n\(probes.joined(separator: "\n"))\n\(serve.log)")
    }
}

extension Samples {
    fileprivate func runs(_ probe: String, _ result: String) -> Double {
        self["tidegate_probe_runs_total{probe=\"\(probe)\",result=\"\(result)\"}"] ?? 0
    }
}
