import Testing
import TidegateTestKit

/// How long a probe may take, from Prometheus's header and `--timeout-offset` to the wire.
@Suite(.timeLimit(.minutes(5)))
struct ScrapeTimeoutTests {
    private static let modules = """
        modules:
          http: {prober: http, timeout: 60s}
          grpc: {prober: grpc, timeout: 60s, grpc: {preferred_ip_protocol: ip4}}
        """

    private static func probe(
        _ module: String, _ target: String, offset: String, scrape: String
    ) async throws -> Samples {
        let bench = try EndToEndFixture()
        defer { bench.end() }
        let daemon = try await bench.startDaemon(
            Self.modules, port: try FreePort.find(), flags: ["--timeout-offset", offset])
        return try await daemon.probe(module, target, ["-H", "X-Prometheus-Scrape-Timeout-Seconds: \(scrape)"])
    }

    @Test("A probe ends when the scrape's time is over but for the offset, and not at its module's timeout")
    func ends() async throws {
        let silent = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { silent.stop() }
        let samples = try await Self.probe("http", silent.url(), offset: "0.75", scrape: "1")
        #expect(samples["probe_success"] == 0 && samples["probe_timeout_seconds"] == 0.25)
        #expect(samples["probe_failure_info{reason=\"timed_out\",party=\"theirs\"}"] == 1)
        let duration = try #require(samples["probe_duration_seconds"])
        #expect((0.25..<60).contains(duration), "\(duration)")
    }

    @Test("The deadline that a probe tells its server is that of the scrape without the offset")
    func onTheWire() async throws {
        let server = try await GRPCServer { _ in .health(1) }
        func milliseconds(offset: String, scrape: String) async throws -> Int {
            let samples = try await Self.probe("grpc", "127.0.0.1:\(server.port)", offset: offset, scrape: scrape)
            #expect(samples["probe_success"] == 1)
            let text = try #require(server.calls.last?.fields["grpc-timeout"])
            let value = try #require(Int(text.dropLast()))
            #expect(text.hasSuffix("m"))
            return value
        }
        // What is left when the call is made: a little less than all of it.
        let short = try await milliseconds(offset: "27.5", scrape: "30")
        #expect((1...2500).contains(short), "\(short)")
        let long = try await milliseconds(offset: "0", scrape: "30")
        #expect((2501...30_000).contains(long), "\(long)")
        // The module's own is shorter than this scrape.
        let own = try await milliseconds(offset: "0", scrape: "3000")
        #expect((30_001...60_000).contains(own), "\(own)")
    }
}
