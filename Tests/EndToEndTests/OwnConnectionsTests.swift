import Foundation
import Testing
import TidegateTestKit

/// The sidecar beside other programs: Tidegate's own connections are not theirs, whatever makes them.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(3)))
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

    init() async throws {
        self.bench = try EndToEndFixture()
        self.hosts = try await TwoHosts()
    }

    @Test("Only another program's connection counts, none of the sidecar's nor of the commands beside it")
    func own() async throws {
        let result: Result<Void, any Error>
        do {
            result = .success(try await self.run())
        } catch {
            result = .failure(error)
        }
        await self.bench.tidyUp()
        try await self.hosts.tearDown()
        try result.get()
    }

    private func run() async throws {
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
        try self.bench.write(
            """
            modules:
            \(Self.probers.map { "  \($0): {\(modules[$0] ?? ""), timeout: 500ms}" }.joined(separator: "\n"))
            probes:
            \(lines.joined(separator: "\n"))
            tasks: [{name: t, url: "http://\(TwoHosts.peer)/nginx.conf", every: 1s}]
            reachability: {targets: [{name: peer, url: "http://\(TwoHosts.peer)/nginx.conf"}]}
            remote_write: {url: "http://\(TwoHosts.peer)/write", interval: 1s}
            """, to: "tidegate.yml")
        let serve = try self.bench.start(
            self.hosts.onThisSide([
                BuiltProduct.path(of: "tidegate"), "serve", "--config.file", self.bench.path("tidegate.yml"),
                "--state.dir", self.bench.path("state"), "--control.socket", self.bench.path("control.sock"),
            ]))
        var samples = Samples("")
        let hasRun = try await eventually {
            samples = try await self.metrics()
            let hasWritten = try self.bench.read("access.log").contains("POST /write ")
            return hasWritten
                && Self.probers.allSatisfy { prober in
                    samples.sum("tidegate_probe_runs_total", containing: "probe=\"\(prober)\"") >= 3
                } && samples["tidegate_observation_messages_total{group=\"tcp4\"}"] ?? 0 >= 20
        }
        #expect(hasRun, "\(serve.errorsSoFar)")
        #expect(samples["tidegate_observation_excluded_total{kind=\"own\"}"] ?? 0 > 0)
        #expect(samples["tidegate_observation_excluded_total{kind=\"announced\"}"] == 0)
        for command in Self.commands { try await self.runBeside(command) }
        try await self.checkOther()
        serve.signal(SIGTERM)
        #expect(await serve.finish(within: .seconds(12)).status == 0)
    }

    // The sidecar learns of the command's connections, and counts them as Tidegate's.
    private func runBeside(_ command: [String]) async throws {
        let series = "tidegate_observation_excluded_total{kind=\"announced\"}"
        let before = try await self.metrics()[series] ?? .nan
        try await Program.expect(self.hosts.onThisSide([BuiltProduct.path(of: "tidegate")] + command))
        let isLeftOut = try await eventually { try await self.metrics()[series] ?? .nan > before }
        #expect(isLeftOut, "\(command)")
    }

    // The kernel reports ends in their order: with this one's all others have been read.
    private func checkOther() async throws {
        try await Program.expect(
            self.hosts.onThisSide(["curl", "-s", "--max-time", "5", "-o", "/dev/null", Self.url]))
        var samples = Samples("")
        let isCounted = try await eventually {
            samples = try await self.metrics()
            return samples.sum("tidegate_observed_ends_total") > 0
        }
        #expect(isCounted, "\(samples.nonzero("tidegate_obser"))")
        #expect(samples["tidegate_observed_ends_total{direction=\"out\",outcome=\"closed\"}"] == 1)
        #expect(samples.sum("tidegate_observed_ends_total") == 1, "\(samples.nonzero("tidegate_observed_"))")
        #expect(samples.sum("tidegate_observed_connects_total") == 1, "\(samples.nonzero("tidegate_observed_"))")
        #expect(samples.nonzero("tidegate_observed_failures_total").isEmpty)
    }

    private func metrics() async throws -> Samples {
        let answer = try await Program.run(
            self.hosts.onThisSide(["curl", "-s", "--max-time", "5", "http://127.0.0.1:9843/metrics"]))
        return Samples(answer.output)
    }
}
