import Foundation
import Testing
import TidegateBus
import TidegateMetrics
import TidegateModel
import TidegateTestKit

@testable import TidegateEndpoint

/// A real Prometheus scrapes the endpoint, and has the same numbers.
@Suite(.serialized) struct PrometheusTests {
    private static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/prometheus")

    @Test(
        "Prometheus is content and has every series with its value",
        .enabled(if: PrometheusTests.isInstalled, "prometheus (Debian package prometheus) is not installed"))
    func scraped() async throws {
        let fixture = Fixture()
        // Somebody listens who never reads, so that there is a queue to look at.
        let listener = fixture.bus.subscribe(.log, keepingNewest: 16)
        defer { listener.cancel() }
        EveryEvent.occurrences.forEach(fixture.bus.publish)
        try await fixture.serving { (port: Int) in
            let prometheus = try await ScrapingPrometheus(target: port)
            defer { prometheus.stop() }
            try await prometheus.feed(from: fixture)
            #expect(try await prometheus.query("up").map(\.value) == [1])
            #expect(try await prometheus.query("scrape_samples_scraped").first.map { $0.value > 500 } == true)
            try await self.compare(port: port, prometheus)
        }
    }

    private func compare(port: Int, _ prometheus: ScrapingPrometheus) async throws {
        // Two more scrapes see everything that was published.
        let before = try await prometheus.query("count_over_time(up[10m])").first?.value ?? 0
        _ = try await eventually(within: .seconds(20)) {
            try await prometheus.query("count_over_time(up[10m])").first.map { $0.value >= before + 2 } == true
        }
        let body = try await RawConnection.ask(port: port, "/metrics").body
        var expected: [String: Double] = [:]
        for line in body.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " ") else { continue }
            expected[String(line[..<space])] = Double(line[line.index(after: space)...])
        }
        let actual = try await prometheus.query("{job=\"tidegate\",__name__=~\"tidegate_.+|process_.+\"}")
        #expect(actual.count >= expected.count - 1)
        for sample in actual where !Self.movesByItself(sample.name) {
            let key = try #require(
                expected.keys.first { ScrapingPrometheus.Sample.isSame($0, as: sample) }, "\(sample)")
            #expect(expected[key] == sample.value, "\(key)")
        }
    }

    // Scraping itself changes these.
    private static func movesByItself(_ name: String) -> Bool {
        name.hasPrefix("process_") || name.hasPrefix("tidegate_http_requests") || name == "tidegate_metric_series"
            || name.hasPrefix("tidegate_bus_")
    }
}
