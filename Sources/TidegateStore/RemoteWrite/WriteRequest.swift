internal import TidegateMetrics
internal import TidegateCore

/// The message of remote write 1.0: series with one sample each, all of one moment.
struct WriteRequest {
    /// What a series that has ended gets for its last value: a NaN of its own.
    static let stale = Double(bitPattern: 0x7ff0_0000_0000_0002)

    /// The samples, with every label they are to have.
    var samples: [MetricSample]
    /// When they were taken.
    var time: WallTime

    /// The message in protobuf's wire format: `WriteRequest{1: TimeSeries{1: Label{1 2}, 2: Sample{1 2}}}`.
    var encoded: [UInt8] {
        let milliseconds = self.time.microseconds / 1000
        var writer = ProtobufWriter()
        for sample in self.samples {
            let series = writer.open(1)
            for label in sample.writtenLabels {
                let pair = writer.open(1)
                writer.string(1, label.name)
                writer.string(2, label.value)
                writer.close(pair)
            }
            let place = writer.open(2)
            writer.double(1, sample.value)
            writer.plain(2, milliseconds)
            writer.close(place)
            writer.close(series)
        }
        return writer.bytes
    }
}

extension MetricSample {
    /// The labels with the name among them, in the order of their names' bytes; a label without a value is none.
    fileprivate var writtenLabels: [Label] {
        let named = MetricSample(name: "", labels: [Label("__name__", self.name)] + self.labels, value: 0)
        return named.labels.filter { !$0.value.isEmpty }
    }
}
