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
            let mark = writer.open(1)
            writer.string(1, label)
            writer.string(2, value)
            writer.close(mark)
        }
        return writer.bytes
    }
}
