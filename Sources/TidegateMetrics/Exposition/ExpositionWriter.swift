package import TidegateCore

/// The exposition while it is being written, in any format.
struct ExpositionWriter {
    private var writer: ProtobufWriter
    /// The text or the messages so far.
    private(set) var bytes: [UInt8]
    private(set) var series = 0
    let format: ExpositionFormat
    /// The start time of counters, for formats that show it.
    let start: WallTime
    private var family: Int?
    private var familyStart = 0
    // Samples instead of lines; nil if text or messages are written.
    private var samples: [MetricSample]?

    /// Writes into `buffer`'s storage.
    init(reusing buffer: consuming [UInt8], format: ExpositionFormat, start: WallTime = WallTime(microseconds: 0)) {
        buffer.removeAll(keepingCapacity: true)
        self.bytes = format == .protobuf ? [] : buffer
        self.writer = ProtobufWriter(format == .protobuf ? buffer : [])
        self.format = format
        self.start = start
    }

    /// A writer that collects the samples of the text format as values and writes nothing.
    static func collecting() -> ExpositionWriter {
        var output = ExpositionWriter(reusing: [], format: .text)
        output.samples = []
        return output
    }

    /// The collected samples; empty if text or messages were written.
    consuming func taken() -> [MetricSample] { self.samples ?? [] }

    /// Ends the exposition and returns everything written.
    consuming func finish() -> [UInt8] {
        guard self.format != .protobuf else { return self.writer.bytes }
        if self.format.isOpenMetrics { self.bytes += "# EOF\n".utf8 }
        return self.bytes
    }

    // MARK: Families

    mutating func open(_ header: FamilyHeader) {
        switch self.format {
        case .openMetrics, .openMetricsDraft: self.bytes += header.openMetrics
        case .text: self.bytes += header.text
        case .protobuf:
            self.family = self.writer.openDelimited()
            self.writer.raw(header.protobuf)
            self.familyStart = self.series
        }
    }

    /// Ends the family; a protobuf family without samples is omitted.
    mutating func close() {
        guard let family = self.family else { return }
        if self.series == self.familyStart { self.writer.discard(family) } else { self.writer.close(family) }
        self.family = nil
    }

    // MARK: Samples

    mutating func counter(_ name: borrowing SeriesName, _ whole: UInt64, exemplar: Exemplar? = nil) {
        guard self.format != .protobuf else { return self.counterMessage(name, Double(whole), exemplar) }
        self.line(name.text, whole: whole, exemplar)
    }

    mutating func counter(_ name: borrowing SeriesName, _ value: Double, exemplar: Exemplar? = nil) {
        guard self.format != .protobuf else { return self.counterMessage(name, value, exemplar) }
        self.line(name.text, value, exemplar)
    }

    mutating func gauge(_ name: borrowing SeriesName, _ value: Double) {
        guard self.format != .protobuf else {
            let pairs = name.pairs
            self.writer.message(4) { writer in
                writer.raw(pairs)
                writer.message(2) { $0.double(1, value) }
            }
            self.series += 1
            return
        }
        self.line(name.text, value)
    }

    mutating func histogram(_ name: borrowing HistogramName, _ reading: borrowing HistogramReading) {
        guard self.format != .protobuf else {
            self.series += reading.counts.count + 2
            return reading.write(to: &self.writer, pairs: name.pairs, start: self.start)
        }
        var total: UInt64 = 0
        for (position, count) in reading.counts.enumerated() {
            total += count
            let exemplar = reading.exemplars.isEmpty ? nil : reading.exemplars[position]
            self.line(name.bucket(position), whole: total, exemplar)
        }
        self.line(name.sum, reading.sum)
        self.line(name.count, whole: total)
    }

    private mutating func counterMessage(_ name: borrowing SeriesName, _ value: Double, _ exemplar: Exemplar?) {
        let (pairs, start) = (name.pairs, self.start)
        self.writer.message(4) { writer in
            writer.raw(pairs)
            writer.message(3) { writer in
                writer.double(1, value)
                if let exemplar { writer.message(2) { exemplar.write(to: &$0) } }
                writer.message(3) { $0.timestamp(start) }
            }
        }
        self.series += 1
    }

    // MARK: Lines

    private mutating func line(_ prefix: some Collection<UInt8>, whole: UInt64, _ exemplar: Exemplar? = nil) {
        guard self.samples == nil else { return self.take(prefix, Double(whole)) }
        self.bytes += prefix
        self.digits(of: whole)
        self.endLine(exemplar)
    }

    private mutating func line(_ prefix: some Collection<UInt8>, _ value: Double, _ exemplar: Exemplar? = nil) {
        guard self.samples == nil else { return self.take(prefix, value) }
        self.bytes += prefix
        self.number(value)
        self.endLine(exemplar)
    }

    private mutating func take(_ prefix: some Collection<UInt8>, _ value: Double) {
        self.samples?.append(MetricSample(line: prefix, value: value))
        self.series += 1
    }

    private mutating func number(_ value: Double) {
        // Counts are exact and quick to write; whole negative numbers and minus zero are rare enough for the slow path.
        if value > 0 || value.bitPattern == 0, value < 9e15, value == value.rounded() {
            self.digits(of: UInt64(value))
        } else {
            self.bytes += NumberText.float(value).utf8
        }
    }

    private mutating func endLine(_ exemplar: Exemplar?) {
        if let exemplar, self.format.isOpenMetrics { self.bytes += exemplar.text }
        self.bytes.append(UInt8(ascii: "\n"))
        self.series += 1
    }

    // From the last digit to the first, into a buffer on the stack: reversing part of the output would copy it.
    private mutating func digits(of value: UInt64) {
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var (rest, first) = (value, 20)
        repeat {
            first -= 1
            digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        for position in first..<20 { self.bytes.append(digits[position]) }
    }
}

/// The gauges of a probe in the Prometheus text format, version 0.0.4.
package enum ProbeExposition {
    /// The value of Content-Type.
    package static var contentType: String { ExpositionFormat.text.contentType }

    /// The families in order, each with its metadata.
    package static func text(_ families: [GaugeFamily]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(4096)
        for family in families {
            bytes += FamilyHeader.text(family.name, family.help, type: "gauge")
            for sample in family.samples {
                Escaping.append(family.name, family.labels, sample.labels, to: &bytes)
                bytes += self.number(sample.value).utf8
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        return bytes
    }

    // Formats floats as Go does: small whole numbers have no decimal point.
    private static func number(_ value: Double) -> String {
        value == value.rounded() && value.magnitude < 1e6 ? String(Int64(value)) : NumberText.float(value)
    }
}
