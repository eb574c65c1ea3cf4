internal import TidegateCore
internal import TidegateMetrics

/// Collects samples and encodes them as request bodies.
struct SampleCollector {
    /// The body of one request, and how many samples it has.
    typealias Body = (bytes: [UInt8], samples: Int)

    /// How many samples one request has at most; receivers bound a request's size.
    private static let maxSamplesPerBody = 2000

    private let time: any TimeSource
    private let collect: @Sendable () -> [MetricSample]
    private var tracker: StaleSeriesTracker

    /// A collector that adds `labels` to every sample that has none of the same name.
    init(
        labels: [MetricSample.Label], time: any TimeSource, collect: @escaping @Sendable () -> [MetricSample]
    ) {
        self.time = time
        self.collect = collect
        self.tracker = StaleSeriesTracker(external: labels)
    }

    /// The samples of this moment.
    mutating func bodies() -> [Body] {
        let time = self.time.wall()
        let entries = self.tracker.entries(for: self.collect())
        return stride(from: 0, to: entries.count, by: SampleCollector.maxSamplesPerBody).compactMap { start in
            let samples = Array(entries[start...].prefix(SampleCollector.maxSamplesPerBody))
            return Snappy.compress(WriteRequest(samples: samples, time: time).encoded).map { ($0, samples.count) }
        }
    }
}

/// Remembers the series of the last collection, so that each series that has ended gets one stale marker.
struct StaleSeriesTracker {
    private struct Series: Hashable {
        let name: String
        let labels: [MetricSample.Label]
    }

    private let external: [MetricSample.Label]
    private var last: Set<Series> = []

    /// A tracker that adds `external` labels to every sample that has none of the same name.
    init(external: [MetricSample.Label]) { self.external = external }

    /// The samples to be sent: with the external labels, and with a stale marker for each series of the last collection
    /// that is missing in this one.
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
