import Foundation
import Testing
import TidegateCore
import TidegateMetrics
import TidegateTestKit

@testable import TidegateStore

/// A real Prometheus as the receiver.
@Suite(
    .enabled(if: Prometheus.isInstalled, "prometheus (Debian package prometheus) is not installed"),
    .timeLimit(.minutes(5)))
struct PrometheusTests {
    @Test("Prometheus stores every sample of the exposition with its value, and no others")
    func sameAsExposition() async throws {
        let prometheus = try await Prometheus.receiving()
        defer { prometheus.stop() }
        let metrics = RecordedMetrics()
        let exposition = metrics.text
        let fixture = try RemoteWriteFixture(prometheus.writeURL, paths: nil) {
            $0.interval = .seconds(600)
        } collect: {
            metrics.samples
        }
        #expect(await eventually { fixture.delivered == exposition.count })
        let stored = Dictionary(
            uniqueKeysWithValues: try await prometheus.query("{job=\"test\"}").map {
                (SeriesKey.key($0.name, $0.labels), $0.value)
            })
        #expect(Set(stored.keys) == Set(exposition.keys))
        for (series, value) in exposition { #expect(stored[series] == value, "\(series)") }
        await fixture.writer.stop()
    }

    @Test("A receiver that was down for a while has every sample afterwards, in order and once")
    func outage() async throws {
        let prometheus = try await Prometheus.receiving()
        defer { prometheus.stop() }
        let fixture = try RemoteWriteFixture(prometheus.writeURL)
        #expect(await eventually { fixture.delivered >= 3 })
        await prometheus.shutDown()
        let before = fixture.turns.collected
        #expect(await eventually { fixture.turns.collected >= before + 10 && fixture.hasFailed(.connectFailed) })
        try await prometheus.start()
        #expect(await eventually { fixture.delivered >= before + 12 })
        await fixture.writer.stop()
        #expect(RemoteWriteLoss.allCases.map { fixture.lost($0) } == [0, 0, 0, 0])
        let points = try #require(await prometheus.query("turn{job=\"test\"}[10m]").first).points
        #expect(points.map(\.value) == (1...points.count).map(Double.init))
        #expect(points.map(\.time) == points.map(\.time).sorted())
        // The last one may have been sent and not confirmed when the writer stopped.
        #expect(points.count - fixture.delivered <= 1 && points.count >= fixture.delivered)
    }

    @Test("A series that ends is gone at once, and not after five minutes")
    func stale() async throws {
        let prometheus = try await Prometheus.receiving()
        defer { prometheus.stop() }
        let samples = ScriptedSamples(["stays", "goes"])
        let fixture = try RemoteWriteFixture(prometheus.writeURL, paths: nil) { _ in
        } collect: {
            samples.samples
        }
        #expect(try await eventually { try await prometheus.query("{job=\"test\"}").count == 2 })
        samples.set(["stays"])
        #expect(try await eventually { try await prometheus.query("{job=\"test\"}").map(\.name) == ["stays"] })
        await fixture.writer.stop()
    }

    @Test("Samples that Prometheus refuses as too old are dropped, and newer ones are sent")
    func outOfOrder() async throws {
        let prometheus = try await Prometheus.receiving()
        defer { prometheus.stop() }
        let clock = ManualTime(wall: WallTime(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000))
        let fixture = try RemoteWriteFixture(prometheus.writeURL, clock: clock)
        // The clock stands still: another value for a moment that Prometheus has already stored.
        #expect(await eventually { fixture.lost(.refused) >= 3 && fixture.delivered == 1 })
        clock.advance(by: .seconds(5))
        #expect(await eventually { fixture.delivered == 2 })
        await fixture.writer.stop()
    }
}
