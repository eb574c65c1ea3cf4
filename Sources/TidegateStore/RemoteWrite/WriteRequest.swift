internal import CSnappy
internal import TidegateCore
internal import TidegateMetrics

/// The message of remote write 1.0: series with one sample each, all from the same time.
struct WriteRequest {
    /// Prometheus's stale marker, which ends a series: a NaN with these bits.
    static let stale = Double(bitPattern: 0x7ff0_0000_0000_0002)

    /// The samples with all their labels.
    var samples: [MetricSample]
    /// The time of collection.
    var time: WallTime

    /// The message in protobuf's wire format: `WriteRequest{1: TimeSeries{1: Label{1 2}, 2: Sample{1 2}}}`.
    var encoded: [UInt8] {
        let milliseconds = self.time.microseconds / 1000
        var writer = ProtobufWriter()
        for sample in self.samples {
            writer.message(1) { writer in
                // Sorted by name, including the metric's name; a label with an empty value counts as missing.
                let labels = [MetricSample.Label("__name__", sample.name)] + sample.labels
                for label in MetricSample(name: "", labels: labels, value: 0).labels where !label.value.isEmpty {
                    writer.message(1) {
                        $0.string(1, label.name)
                        $0.string(2, label.value)
                    }
                }
                writer.message(2) {
                    $0.double(1, sample.value)
                    $0.plain(2, milliseconds)
                }
            }
        }
        return writer.bytes
    }
}

/// Snappy's block format, the only compression of remote write 1.0.
enum Snappy {
    /// The bytes as one block; nil if they exceed the maximum size of a block (4 GiB).
    static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count <= UInt32.max else { return nil }
        var status = SNAPPY_OK
        let capacity = snappy_max_compressed_length(bytes.count)
        let block = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            var length = capacity
            status = bytes.withUnsafeBufferPointer { input in
                input.withMemoryRebound(to: CChar.self) { input in
                    buffer.withMemoryRebound(to: CChar.self) { output in
                        snappy_compress(input.baseAddress, input.count, output.baseAddress, &length)
                    }
                }
            }
            count = status == SNAPPY_OK ? length : 0
        }
        return status == SNAPPY_OK ? block : nil
    }
}

/// Remembers the series of the last collection, so that each ended series gets one stale marker.
struct StaleSeriesTracker {
    private let external: [MetricSample.Label]
    // The samples without their values.
    private var last: Set<MetricSample> = []

    /// A tracker that adds the `external` labels to every sample without a label of the same name.
    init(external: [MetricSample.Label]) { self.external = external }

    /// The samples to send, with the external labels.
    ///
    /// Includes a stale marker for each series of the last collection that is missing in this one.
    mutating func entries(for samples: [MetricSample]) -> [MetricSample] {
        var current = Set<MetricSample>(minimumCapacity: samples.count)
        let entries = samples.map(self.labelled)
        for var entry in entries {
            entry.value = 0
            current.insert(entry)
        }
        let ended = self.last.subtracting(current).sorted { "\($0)" < "\($1)" }
        self.last = current
        return entries + ended.map { MetricSample(name: $0.name, labels: $0.labels, value: WriteRequest.stale) }
    }

    private func labelled(_ sample: MetricSample) -> MetricSample {
        let own = Set(sample.labels.map(\.name))
        let added = self.external.filter { !own.contains($0.name) }
        return MetricSample(name: sample.name, labels: sample.labels + added, value: sample.value)
    }
}
