internal import TidegateCore

/// A histogram's counts at one moment.
struct HistogramReading {
    /// The maximum number of native buckets written; more are merged in pairs until they fit.
    static let maxNativeBuckets = 160

    let layout: HistogramLayout
    /// The observations in each classic bucket, not cumulative; the unbounded bucket is last.
    var counts: [UInt64]
    /// The observations in each non-empty native bucket, ascending, with 0 for zero; nil without native buckets.
    var native: [(bucket: Int, count: UInt64)]?
    var sum: Double
    /// One for each classic bucket; empty if there are none.
    var exemplars: [Exemplar?]

    /// Writes a protobuf `Metric` with classic and native buckets.
    func write(to writer: inout ProtobufWriter, pairs: [UInt8], start: WallTime) {
        writer.message(4) { writer in
            writer.raw(pairs)
            writer.message(7) { writer in
                writer.number(1, self.counts.reduce(0, +))
                writer.double(2, self.sum)
                self.writeClassic(to: &writer)
                if let native = self.native { self.write(native, to: &writer) }
                writer.message(15) { $0.timestamp(start) }
            }
        }
    }

    private func writeClassic(to writer: inout ProtobufWriter) {
        var total: UInt64 = 0
        for (position, count) in self.counts.enumerated() {
            total += count
            writer.message(3) { writer in
                writer.number(1, total)
                writer.double(2, position < self.layout.bounds.count ? self.layout.bounds[position] : .infinity)
                guard !self.exemplars.isEmpty, let exemplar = self.exemplars[position] else { return }
                writer.message(3) { exemplar.write(to: &$0) }
            }
        }
    }

    private func write(_ native: [(bucket: Int, count: UInt64)], to writer: inout ProtobufWriter) {
        let zero = native.first.flatMap { $0.bucket == 0 ? $0.count : nil } ?? 0
        var schema = HistogramLayout.schema
        var buckets = native.drop { $0.bucket == 0 }.map { (key: self.layout.key(of: $0.bucket), count: $0.count) }
        while buckets.count > HistogramReading.maxNativeBuckets {
            schema -= 1
            buckets = HistogramReading.halved(buckets)
        }
        writer.signed(5, schema)
        writer.double(6, self.layout.zeroThreshold)
        writer.number(7, zero)
        HistogramReading.writeSpans(of: buckets, to: &writer)
    }

    // Merges pairs of buckets that form one bucket of the next lower schema.
    private static func halved(_ buckets: [(key: Int64, count: UInt64)]) -> [(key: Int64, count: UInt64)] {
        var merged: [(key: Int64, count: UInt64)] = []
        for bucket in buckets {
            let key = (bucket.key + 1) >> 1
            if let last = merged.last, last.key == key {
                merged[merged.count - 1].count += bucket.count
            } else {
                merged.append((key, bucket.count))
            }
        }
        return merged
    }

    private static func writeSpans(of buckets: [(key: Int64, count: UInt64)], to writer: inout ProtobufWriter) {
        var spans: [(offset: Int64, length: UInt64)] = []
        var deltas: [Int64] = []
        var next: Int64 = 0
        var last: Int64 = 0
        for bucket in buckets {
            if bucket.key == next, !spans.isEmpty {
                spans[spans.count - 1].length += 1
            } else {
                spans.append((bucket.key - next, 1))
            }
            next = bucket.key + 1
            deltas.append(Int64(clamping: bucket.count) - last)
            last = Int64(clamping: bucket.count)
        }
        // Without any span, Prometheus would not treat the histogram as native.
        if spans.isEmpty { spans.append((0, 0)) }
        for span in spans {
            writer.message(12) {
                $0.signed(1, span.offset)
                $0.number(2, span.length)
            }
        }
        if !deltas.isEmpty { writer.packedSigned(13, deltas) }
    }
}

/// The task of an observation: it leads from a figure to the request behind it.
struct Exemplar: Sendable {
    /// The origin of an observation.
    struct Source: Sendable {
        let task: TaskID
        /// The number of the attempt, from 1; nil for the whole task.
        var attempt: Int?
        /// The trace of the task; nil without one.
        var trace: TraceID?
        let time: WallTime
    }

    let source: Source
    /// The observed value; 1 for a count.
    let value: Double

    /// The labels: at most 95 code points with names and a five-digit attempt, out of the 128 allowed.
    var labels: [(name: String, value: String)] {
        [("task_id", self.source.task.description)] + (self.source.attempt.map { [("attempt", String($0))] } ?? [])
            + (self.source.trace.map { [("trace_id", $0.description)] } ?? [])
    }

    /// ` # {task_id="…",attempt="1"} 0.25 1790000000.123`, which OpenMetrics puts after a sample's value.
    var text: [UInt8] {
        let labels = self.labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
        let padded = String(abs(self.source.time.microseconds) / 1000 % 1000).padded(to: 3)
        let seconds = self.source.time.microseconds / 1_000_000
        return Array(" # {\(labels)} \(NumberText.float(self.value)) \(seconds).\(padded)".utf8)
    }

    /// The fields of a protobuf `Exemplar`.
    func write(to writer: inout ProtobufWriter) {
        writer.raw(SeriesName.pairs(self.labels.map(\.name), self.labels.map(\.value)))
        writer.double(2, self.value)
        writer.message(3) { $0.timestamp(self.source.time) }
    }
}

extension ProtobufWriter {
    /// The fields of a protobuf `Timestamp`.
    mutating func timestamp(_ time: WallTime) {
        let nanoseconds = time.microseconds % 1_000_000 * 1000
        self.plain(1, time.microseconds / 1_000_000)
        if nanoseconds != 0 { self.plain(2, nanoseconds) }
    }
}
