internal import TidegateCore

/// The prefix of a sample, encoded once: name and labels as text, and the label pairs as protobuf.
struct SeriesName: Sendable {
    /// `name{first="…"} `.
    let text: [UInt8]
    /// The `LabelPair` fields of a protobuf `Metric`.
    let pairs: [UInt8]

    init(_ definition: MetricDefinition, _ values: [String]) {
        self.text = Escaping.samplePrefix(definition.name, definition.labels, values)
        self.pairs = SeriesName.pairs(definition.labels, values)
    }

    static func pairs(_ labels: [String], _ values: [String]) -> [UInt8] {
        var writer = ProtobufWriter()
        for (label, value) in zip(labels, values) {
            writer.message(1) {
                $0.string(1, label)
                $0.string(2, value)
            }
        }
        return writer.bytes
    }
}

/// The prefixes of a histogram's lines, made once; those of the buckets share one array.
struct HistogramName: Sendable {
    private let buckets: [UInt8]
    private let ends: [Int]
    let sum: [UInt8]
    let count: [UInt8]
    let pairs: [UInt8]

    init(_ definition: MetricDefinition, values: [String], bounds: [Double]) {
        var (buckets, ends): ([UInt8], [Int]) = ([], [0])
        for bound in bounds + [.infinity] {
            buckets += Escaping.samplePrefix(
                definition.name + "_bucket", definition.labels + ["le"], values + [NumberText.float(bound)])
            ends.append(buckets.count)
        }
        self.buckets = buckets
        self.ends = ends
        self.sum = Escaping.samplePrefix(definition.name + "_sum", definition.labels, values)
        self.count = Escaping.samplePrefix(definition.name + "_count", definition.labels, values)
        self.pairs = SeriesName.pairs(definition.labels, values)
    }

    func bucket(_ position: Int) -> ArraySlice<UInt8> {
        self.buckets[self.ends[position]..<self.ends[position + 1]]
    }
}

/// Escapes text inside quotes and after `# HELP`.
enum Escaping {
    /// A help text; only OpenMetrics escapes quotes.
    static func help(_ text: String, for format: ExpositionFormat) -> [UInt8] {
        self.escaped(text, quotes: format.isOpenMetrics)
    }

    /// `name{first="…",second="…"} `, or `name ` without labels.
    ///
    /// Invalid UTF-8 was already replaced by U+FFFD when the strings were made.
    static func samplePrefix(_ name: String, _ labels: [String], _ values: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        self.append(name, labels, values, to: &bytes)
        return bytes
    }

    /// Appends a sample's prefix.
    static func append(_ name: String, _ labels: [String], _ values: [String], to bytes: inout [UInt8]) {
        bytes += name.utf8
        for (position, (label, value)) in zip(labels, values).enumerated() {
            bytes.append(UInt8(ascii: position == 0 ? "{" : ","))
            bytes += label.utf8
            bytes += "=\"".utf8
            bytes += self.escaped(value, quotes: true)
            bytes.append(UInt8(ascii: "\""))
        }
        if !labels.isEmpty { bytes.append(UInt8(ascii: "}")) }
        bytes.append(UInt8(ascii: " "))
    }

    private static func escaped(_ text: String, quotes: Bool) -> [UInt8] {
        // Nearly every text takes this path.
        guard text.utf8.contains(where: { "\\\n\"".utf8.contains($0) }) else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += [byte, byte]
            case UInt8(ascii: "\n"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case UInt8(ascii: "\"") where quotes: bytes += [UInt8(ascii: "\\"), byte]
            default: bytes.append(byte)
            }
        }
        return bytes
    }
}
