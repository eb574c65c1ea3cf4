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
