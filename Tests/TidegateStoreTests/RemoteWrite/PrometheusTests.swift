import Foundation
import Testing
import TidegateCore
import TidegateMetrics
import TidegateTestKit

@testable import TidegateStore

/// The receiver that everybody has.
@Suite(
    .enabled(if: ReceivingPrometheus.isInstalled, "prometheus (Debian package prometheus) is not installed"),
    .timeLimit(.minutes(5)))
struct PrometheusTests {
    @Test("Prometheus has every sample of the exposition with its value, and only those")
    func sameAsExposition() async throws {
        let prometheus = try await ReceivingPrometheus()
        defer { prometheus.stop() }
        let history = History()
        let exposition = history.text
        let rig = try Rig(prometheus.url, paths: nil) {
            $0.interval = .seconds(600)
        } collect: {
            history.samples
        }
        #expect(await eventually { rig.delivered == exposition.count })
        let stored = try await prometheus.query("{job=\"test\"}")
        #expect(Set(stored.keys) == Set(exposition.keys))
        for (series, value) in exposition { #expect(stored[series] == value, "\(series)") }
        await rig.writer.stop()
    }

    @Test("A receiver that is away for a while has everything afterwards, in order and once")
    func outage() async throws {
        let prometheus = try await ReceivingPrometheus()
        defer { prometheus.stop() }
        let rig = try Rig(prometheus.url)
        #expect(await eventually { rig.delivered >= 3 })
        await prometheus.end()
        let before = rig.turns.taken
        #expect(await eventually { rig.turns.taken >= before + 10 && rig.hasFailed(.connectFailed) })
        try await prometheus.begin()
        #expect(await eventually { rig.delivered >= before + 12 })
        await rig.writer.stop()
        #expect(RemoteWriteLoss.allCases.map { rig.lost($0) } == [0, 0, 0, 0])
        let points = try await prometheus.points(of: "turn{job=\"test\"}")
        #expect(points.map(\.value) == (1...points.count).map(Double.init))
        #expect(points.map(\.time) == points.map(\.time).sorted())
        // The last one may have been on its way when the writer stopped.
        #expect(points.count - rig.delivered <= 1 && points.count >= rig.delivered)
    }

    @Test("A series that ends is gone at once, and not after five minutes")
    func stale() async throws {
        let prometheus = try await ReceivingPrometheus()
        defer { prometheus.stop() }
        let names = Names(["stays", "goes"])
        let rig = try Rig(prometheus.url, paths: nil) { _ in
        } collect: {
            names.samples
        }
        #expect(try await eventually { try await prometheus.query("{job=\"test\"}").count == 2 })
        names.say(["stays"])
        #expect(try await eventually { try await prometheus.query("{job=\"test\"}").keys.sorted() == ["stays"] })
        await rig.writer.stop()
    }

    @Test("Samples that Prometheus refuses as too old are dropped, and newer ones go on")
    func outOfOrder() async throws {
        let prometheus = try await ReceivingPrometheus()
        defer { prometheus.stop() }
        let clock = ManualTime(wall: WallTime(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000))
        let rig = try Rig(prometheus.url, clock: clock)
        // The clock stands: another value for a moment that Prometheus has already.
        #expect(await eventually { rig.lost(.refused) >= 3 && rig.delivered == 1 })
        clock.advance(by: .seconds(5))
        #expect(await eventually { rig.delivered == 2 })
        await rig.writer.stop()
    }
}
