import Testing
@testable import TidegateCore

@testable import TidegateMetrics

/// What scheduled probes leave in the metrics.
@Suite struct ProbeRecorderTests {
    private static func publish(_ kind: ProbeEvent.Kind, of probe: String = "api", on fixture: Fixture) {
        fixture.bus.publish(.probe(ProbeEvent(probe: probe, kind)))
    }

    private static func series(of fixture: Fixture) -> [String: Double] {
        fixture.series().filter { $0.key.hasPrefix("tidegate_probe_") && !$0.key.contains("_bucket") }
    }

    @Test("A probe has all its counters from the start, and nothing that is not known yet")
    func added() {
        let fixture = Fixture()
        Self.publish(.added, on: fixture)
        let series = Self.series(of: fixture)
        for result in ["success", "failure", "inconclusive"] {
            #expect(series["tidegate_probe_runs_total{probe=\"api\",result=\"\(result)\"}"] == 0)
        }
        #expect(series["tidegate_probe_failures_total{probe=\"api\",party=\"theirs\"}"] == 0)
        #expect(series["tidegate_probe_overruns_total{probe=\"api\"}"] == 0)
        #expect(series["tidegate_probe_success{probe=\"api\"}"] == nil)
    }

    @Test("An inconclusive run is counted, and leaves what is known of the target as it was")
    func inconclusive() {
        let fixture = Fixture()
        let down = ProbeFailure(reason: "connect_failed", party: .theirs, text: "refused")
        Self.publish(.finished(.init(result: .success, duration: .milliseconds(20), uptime: 1)), on: fixture)
        Self.publish(
            .finished(.init(result: .failure, failure: down, duration: .milliseconds(20), uptime: 0.5)), on: fixture)
        let gated = ProbeFailure(reason: "no_path", party: .mine, text: "no carrier")
        Self.publish(
            .finished(.init(result: .inconclusive, failure: gated, duration: .zero, isGated: true, uptime: 0.5)),
            on: fixture)
        let series = Self.series(of: fixture)
        #expect(series["tidegate_probe_runs_total{probe=\"api\",result=\"inconclusive\"}"] == 1)
        #expect(series["tidegate_probe_success{probe=\"api\"}"] == 0)
        #expect(series["tidegate_probe_uptime_ratio{probe=\"api\"}"] == 0.5)
        #expect(series["tidegate_probe_duration_seconds_count{probe=\"api\"}"] == 2)
        #expect(series["tidegate_probe_failures_total{probe=\"api\",party=\"theirs\"}"] == 1)
        #expect(series["tidegate_probe_failures_total{probe=\"api\",party=\"mine\"}"] == nil)
        let info = "tidegate_probe_failure_info{probe=\"api\",reason=\"connect_failed\",party=\"theirs\"}"
        #expect(series.filter { $0.key.hasPrefix("tidegate_probe_failure_info") } == [info: 1])
    }

    @Test("The reason of a failure is there for as long as it lasts")
    func reasons() {
        let fixture = Fixture()
        for reason in ["connect_failed", "status"] {
            let failure = ProbeFailure(reason: reason, party: .theirs, text: "")
            Self.publish(.finished(.init(result: .failure, failure: failure, duration: .zero)), on: fixture)
            let info = Self.series(of: fixture).keys.filter { $0.hasPrefix("tidegate_probe_failure_info") }
            #expect(info == ["tidegate_probe_failure_info{probe=\"api\",reason=\"\(reason)\",party=\"theirs\"}"])
        }
        Self.publish(.finished(.init(.success, duration: .zero)), on: fixture)
        #expect(!Self.series(of: fixture).keys.contains { $0.hasPrefix("tidegate_probe_failure_info") })
    }

    @Test("A removed probe's series go, and no others")
    func removed() {
        let fixture = Fixture()
        for probe in ["api", "www"] {
            Self.publish(.added, of: probe, on: fixture)
            let failure = ProbeFailure(reason: "status", party: .theirs, text: "")
            Self.publish(
                .finished(
                    .init(
                        result: .failure, failure: failure, duration: .zero,
                        certificateExpiry: WallTime(microseconds: 1),
                        uptime: 0)), of: probe, on: fixture)
        }
        let before = Self.series(of: fixture)
        Self.publish(.removed, on: fixture)
        let after = Self.series(of: fixture)
        #expect(!after.isEmpty && after == before.filter { $0.key.contains("probe=\"www\"") })
    }
}
