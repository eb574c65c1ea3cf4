import Foundation
import Testing
import TidegateTestKit

/// The sidecar beside other programs: Tidegate's own connections are not theirs, whatever makes them.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(5)))
struct OwnConnectionsTests {
    private static let probers = ["http", "tcp", "grpc", "websocket", "dns"]
    private static let url = "http://\(TwoHosts.peer)/nginx.conf"

    private static var commands: [[String]] {
        [
            ["explain", "\(TwoHosts.peer):80"],
            ["wait", "--for", "host:\(TwoHosts.peer):80", "--timeout", "20s"],
            ["wait", "--for", self.url, "--timeout", "20s"], ["probe", "http_2xx", self.url],
        ]
    }

    private let bench: EndToEndFixture
    private let hosts: TwoHosts

    init() throws {
        (self.bench, self.hosts) = (try EndToEndFixture(), try TwoHosts())
    }

    @Test("Only another program's connection counts, none of the sidecar's nor of the commands beside it")
    func own() async throws {
        try await self.bench.startNginx(on: self.hosts, rate: "1m")
        // Most are answered by something else than they expect, which is a connection all the same.
        let modules = [
            "http": "prober: http", "tcp": "prober: tcp", "grpc": "prober: grpc", "websocket": "prober: websocket",
            "dns": "prober: dns, dns: {query_name: a.test, transport_protocol: tcp}",
        ]
        let lines = Self.probers.map { prober in
            let scheme = prober == "http" ? "http://" : prober == "websocket" ? "ws://" : ""
            let path = scheme.isEmpty ? "" : "/nginx.conf"
            return
                "  - {name: \(prober), module: \(prober), target: \"\(scheme)\(TwoHosts.peer):80\(path)\", every: 1s}"
        }
        let serve = try await self.bench.startDaemon(
            """
            modules:
            \(Self.probers.map { "  \($0): {\(modules[$0] ?? ""), timeout: 500ms}" }.joined(separator: "\n"))
            probes:
            \(lines.joined(separator: "\n"))
            tasks: [{name: t, url: "http://\(TwoHosts.peer)/nginx.conf", every: 1s}]
            reachability: {targets: [{name: peer, url: "http://\(TwoHosts.peer)/nginx.conf"}]}
            remote_write: {url: "http://\(TwoHosts.peer)/write", interval: 1s}
            """, prefix: self.hosts.onThisSide([]))
        var samples = Samples("")
        let hasRun = try await eventually {
            samples = try await serve.metrics()
            let hasWritten = try self.bench.read("access.log").contains("POST /write ")
            return hasWritten
                && Self.probers.allSatisfy { prober in
                    samples.sum("tidegate_probe_runs_total", containing: "probe=\"\(prober)\"") >= 3
                } && samples["tidegate_observation_messages_total{group=\"tcp4\"}"] ?? 0 >= 20
        }
        #expect(hasRun, "\(serve.log)")
        #expect(samples["tidegate_observation_excluded_total{kind=\"own\"}"] ?? 0 > 0)
        #expect(samples["tidegate_observation_excluded_total{kind=\"announced\"}"] == 0)
        for command in Self.commands { try await self.run(command, beside: serve) }
        try await self.checkOther(serve)
        await serve.stop()
    }

    // The sidecar learns of the command's connections, and counts them as Tidegate's.
    private func run(_ command: [String], beside serve: RunningDaemon) async throws {
        let series = "tidegate_observation_excluded_total{kind=\"announced\"}"
        let before = try await serve.metrics()[series] ?? .nan
        try await Program.expect(self.hosts.onThisSide([BuiltProduct.path(of: "tidegate")] + command))
        let isLeftOut = try await eventually { try await serve.metrics()[series] ?? .nan > before }
        #expect(isLeftOut, "\(command)")
    }

    // The kernel reports ends in their order: with this one's all others have been read.
    private func checkOther(_ serve: RunningDaemon) async throws {
        try await Program.expect(
            self.hosts.onThisSide(["curl", "-s", "--max-time", "5", "-o", "/dev/null", Self.url]))
        var samples = Samples("")
        let isCounted = try await eventually {
            samples = try await serve.metrics()
            return samples.sum("tidegate_observed_ends_total") > 0
        }
        #expect(isCounted, "\(samples.nonzero("tidegate_obser"))")
        #expect(samples["tidegate_observed_ends_total{direction=\"out\",outcome=\"closed\"}"] == 1)
        #expect(samples.sum("tidegate_observed_ends_total") == 1, "\(samples.nonzero("tidegate_observed_"))")
        #expect(samples.sum("tidegate_observed_connects_total") == 1, "\(samples.nonzero("tidegate_observed_"))")
        #expect(samples.nonzero("tidegate_observed_failures_total").isEmpty)
    }
}
