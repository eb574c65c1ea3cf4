internal import TidegateMetrics

/// Knows which series the last collection had, so that a series' end is told once.
struct StaleSeriesTracker {
    private struct Series: Hashable {
        let name: String
        let labels: [MetricSample.Label]
    }

    private let external: [MetricSample.Label]
    private var last: Set<Series> = []

    /// A ledger that gives `external` labels to every sample that has none of that name.
    init(external: [MetricSample.Label]) { self.external = external }

    /// The samples as they are sent: with the external labels, and with a stale marker for each series that was there
    /// before and is not any more.
    mutating func entries(for samples: [MetricSample]) -> [MetricSample] {
        var current: Set<Series> = []
        current.reserveCapacity(samples.count)
        var entries = samples.map(self.labelled)
        for entry in entries { current.insert(Series(name: entry.name, labels: entry.labels)) }
        let ended = self.last.subtracting(current).sorted { "\($0)" < "\($1)" }
        entries += ended.map { MetricSample(name: $0.name, labels: $0.labels, value: WriteRequest.stale) }
        self.last = current
        return entries
    }

    private func labelled(_ sample: MetricSample) -> MetricSample {
        let own = Set(sample.labels.map(\.name))
        let added = self.external.filter { !own.contains($0.name) }
        return MetricSample(name: sample.name, labels: sample.labels + added, value: sample.value)
    }
}
