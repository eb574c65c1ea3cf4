import Foundation
import Testing
import TidegateCore
import TidegateMetrics
import TidegateTestKit

@testable import TidegateServer

/// Every panel of every dashboard has data.
@Suite(.serialized) struct PanelTests {
    @Test(
        "Every panel has data from a real Prometheus that scrapes an endpoint at work",
        .enabled(if: Prometheus.isInstalled, "prometheus (Debian package prometheus) is not installed"))
    func atWork() async throws {
        var fixture = Fixture()
        fixture.incidents = IncidentPageTests.Record([], now: fixture.time.wall())
        fixture.view.change {
            $0.connections = GrowingObservation()
            $0.status.quality = EveryEvent.qualityStatus
            $0.status.uplinks = [EveryEvent.uplink(.used, .works), EveryEvent.uplink(.standby, .silent)]
        }
        // A subscriber that never reads, so that there is a queue to show.
        let listener = fixture.bus.subscribe(.log, bufferingNewest: 16)
        defer { listener.cancel() }
        try await fixture.serving { [fixture] (port: Int) in
            let rules = ["alerts.yml", "rules.yml"].map { Dashboard.folder.appendingPathComponent($0).path }
            let prometheus = try await Prometheus(scraping: port, rules: rules)
            defer { prometheus.stop() }
            try await prometheus.feed(from: fixture)
            // Those of many hosts need what a sidecar records: SidecarDashboardTests.
            for name in Dashboard.names where !["probes", "fleet"].contains(name) {
                try await self.check(Dashboard(named: name), against: prometheus, while: { Prometheus.work(fixture) })
            }
        }
    }

    @Test(
        "Every panel about probes has data from blackbox_exporter's series",
        .enabled(
            if: Prometheus.isInstalled && BlackboxExporter.isInstalled && TestAuthority.isAvailable,
            "prometheus, prometheus-blackbox-exporter or openssl (Debian packages) is not installed"))
    func probes() async throws {
        let authority = try await TestAuthority()
        let secure = try await TestTLSServer(authority.sign(["localhost"]))
        let fixture = Fixture()
        try await fixture.serving { (port: Int) in
            let blackbox = try await BlackboxExporter()
            defer { blackbox.stop() }
            let targets = [
                "http://127.0.0.1:\(port)/-/healthy", "https://127.0.0.1:\(secure.port)/", "http://127.0.0.1:1/",
            ]
            let prometheus = try await Prometheus(scraping: port, jobs: [blackbox.job(probing: targets)])
            defer { prometheus.stop() }
            let isProbed = try await eventually {
                try await prometheus.query("count_over_time(probe_success[1m]) > 3").count == targets.count
            }
            #expect(isProbed)
            #expect(try await prometheus.query("probe_success == 1").count == 2)
            #expect(try await prometheus.query("probe_success == 0").count == 1)
            try await self.check(Dashboard(named: "probes"), against: prometheus, while: {})
        }
    }

    private func check(
        _ dashboard: Dashboard, against prometheus: Prometheus, while work: @escaping () -> Void
    ) async throws {
        #expect(!dashboard.charts.isEmpty)
        for panel in dashboard.charts {
            for query in try #require(panel.targets) {
                // A scrape that a busy machine made too late leaves a gap of a second. Rates need growth, also when the
                // panels before took long.
                let answer = try await eventualValue {
                    work()
                    let answer = try await prometheus.query(query.filled)
                    return answer.isEmpty || answer.contains { !$0.value.isFinite } ? nil : answer
                }
                let result = try #require(answer, "\(dashboard.uid), \(panel.title): \(query.filled)")
                for label in query.legendLabels {
                    #expect(
                        result.contains { $0.labels[label] != nil }, "\(panel.title): no \(label) to name a line by")
                }
            }
        }
    }
}

/// blackbox_exporter on the loopback address.
private struct BlackboxExporter {
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/prometheus-blackbox-exporter")

    private let program: Program
    private let file: URL
    private let port: Int

    /// Starts one with a module for HTTP, and waits until it answers.
    init() async throws {
        self.port = try FreePort.find()
        self.file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yml")
        try "modules: {web: {prober: http, timeout: 1s, http: {tls_config: {insecure_skip_verify: true}}}}\n"
            .write(to: self.file, atomically: true, encoding: .utf8)
        self.program = try Program([
            "prometheus-blackbox-exporter", "--config.file=\(self.file.path)",
            "--web.listen-address=127.0.0.1:\(self.port)", "--log.level=error",
        ])
        try await Program.answers("http://127.0.0.1:\(self.port)/-/healthy")
    }

    func stop() {
        self.program.signal(SIGKILL)
        try? FileManager.default.removeItem(at: self.file)
    }

    /// An entry of `scrape_configs` in the usual form: the target becomes the instance.
    func job(probing targets: [String]) -> String {
        let list = targets.map { "\"\($0)\"" }.joined(separator: ", ")
        return """
            {job_name: blackbox, metrics_path: /probe, params: {module: [web]}, static_configs: [{targets: [\(list)]}], \
            relabel_configs: [{source_labels: [__address__], target_label: __param_target}, \
            {source_labels: [__param_target], target_label: instance}, \
            {target_label: __address__, replacement: "127.0.0.1:\(self.port)"}]}
            """
    }
}

extension Prometheus {
    /// Publishes everything that can happen between scrapes.
    static func work(_ fixture: Fixture) {
        EveryEvent.payloads.forEach(fixture.bus.publish)
        for host in EveryEvent.qualityStatus.hosts {
            fixture.recorder.record(roundTrip: host.roundTrip ?? .zero, to: host.segment)
        }
        fixture.time.advance(by: .milliseconds(100))
    }

    /// Has everything happen again and again, so that rates have growth to see.
    func feed(from fixture: Fixture) async throws {
        let isFed = try await eventually {
            Self.work(fixture)
            return try await self.query("count_over_time(up{job=\"tidegate\"}[1m]) > 5").isEmpty == false
        }
        try #require(isFed)
    }
}
