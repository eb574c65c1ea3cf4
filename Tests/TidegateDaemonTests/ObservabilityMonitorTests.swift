import Testing
import Tidegate
import TidegateServer
import TidegateMetrics
import TidegateTestKit

@testable import TidegateDaemon

/// What the sections `events` and `metrics` come to in a monitor and its endpoint.
@Suite(.timeLimit(.minutes(5))) struct ObservabilityMonitorTests {
    private static func samples(_ text: String, asking hosts: [String]) async throws -> [MetricSample] {
        let servers = try hosts.map { try LiveServer(address: $0) { _ in .respond(text: "tide") } }
        defer { servers.forEach { $0.stop() } }
        let configuration = try Configuration.parse(text, file: "t.yml")
        let monitor = try Monitor(configuration.monitorConfiguration(version: "1"))
        var settings = EndpointConfiguration()
        configuration.apply(to: &settings)
        let endpoint = Endpoint(
            configuration: settings, view: monitor, bus: monitor.bus, recorder: monitor.recorder, time: SystemClock())
        for server in servers {
            let task = monitor.session.makeTask(try TaskRequest(url: server.url()))
            task.resume()
            #expect(await task.result().outcome == .success)
        }
        // The budgets of one look are told at the next.
        let isOff = configuration.metrics.mode == .off
        let isReported = await eventually {
            endpoint.samples().contains { $0.name == "tidegate_retry_budget_tokens" } || isOff
        }
        #expect(isReported)
        let samples = endpoint.samples()
        await monitor.stop()
        return samples
    }

    private static func hosts(_ name: String, in samples: [MetricSample]) -> [String] {
        let labels = samples.filter { $0.name == name }.flatMap(\.labels).filter { $0.name == "host" }
        return labels.map(\.value).sorted()
    }

    @Test(
        "Attempts and budgets are told by host as the file says",
        arguments: [
            ("metrics: {host_label: off}", []),
            ("metrics: {host_label: top}", ["127.0.0.1", "127.0.0.2"]),
            ("metrics: {host_label: top, max_hosts: 1}", ["127.0.0.1", "_other"]),
            ("metrics: {host_label: allowlist, hosts: [127.0.0.2]}", ["127.0.0.2", "_other"]),
        ])
    func hostLabel(_ text: String, _ hosts: [String]) async throws {
        let samples = try await Self.samples(text, asking: ["127.0.0.1", "127.0.0.2"])
        #expect(Self.hosts("tidegate_request_attempts_total", in: samples) == hosts)
        #expect(Self.hosts("tidegate_request_duration_seconds_count", in: samples) == hosts)
        #expect(Self.hosts("tidegate_retry_budget_tokens", in: samples) == hosts)
    }
}
