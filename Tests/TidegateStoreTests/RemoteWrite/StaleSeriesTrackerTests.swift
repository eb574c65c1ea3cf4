import Testing
import TidegateMetrics

@testable import TidegateStore

/// External labels and stale markers.
@Suite struct StaleSeriesTrackerTests {
    private static func sample(_ name: String, _ labels: [(String, String)] = [], _ value: Double = 1) -> MetricSample {
        MetricSample(name: name, labels: labels.map { .init($0.0, $0.1) }, value: value)
    }

    @Test("Every series gets the external labels, and keeps its own of the same name")
    func external() {
        var tracker = StaleSeriesTracker(external: [.init("job", "tidegate"), .init("instance", "pump-7")])
        let entries = tracker.entries(for: [Self.sample("a"), Self.sample("b", [("job", "mine"), ("x", "y")])])
        #expect(entries.map { $0.labels.map(\.name) } == [["instance", "job"], ["instance", "job", "x"]])
        #expect(entries.map { $0.labels.map(\.value) } == [["pump-7", "tidegate"], ["pump-7", "mine", "y"]])
    }

    @Test("A series that ends gets one stale marker, and may start again")
    func stale() {
        var tracker = StaleSeriesTracker(external: [])
        _ = tracker.entries(for: [Self.sample("a"), Self.sample("b", [("x", "1")])])
        let after = tracker.entries(for: [Self.sample("a")])
        #expect(after.map(\.name) == ["a", "b"])
        #expect(after.last?.value.bitPattern == 0x7ff0_0000_0000_0002)
        #expect(after.last?.labels == [.init("x", "1")])
        #expect(tracker.entries(for: [Self.sample("a")]).count == 1)
        #expect(tracker.entries(for: [Self.sample("a"), Self.sample("b", [("x", "1")])]).map(\.value) == [1, 1])
    }
}
