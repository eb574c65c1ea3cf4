internal import TidegateCore

/// What stands before a sample's number, written once: name and labels as text, the label pairs as protobuf.
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

/// The text of a histogram's lines before the numbers, made once; the prefixes of the buckets stand in one array.
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
