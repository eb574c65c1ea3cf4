/// A family's metadata, made once for each format.
struct FamilyHeader: Sendable {
    let openMetrics: [UInt8]
    let text: [UInt8]
    /// The fields of a protobuf `MetricFamily` that precede its metrics.
    let protobuf: [UInt8]

    init(_ definition: MetricDefinition) {
        let unit = definition.unit.rawValue
        let type = Array("# TYPE \(definition.family) \(definition.type.name)\n".utf8)
        self.openMetrics =
            type + (unit.isEmpty ? "" : "# UNIT \(definition.family) \(unit)\n").utf8
            + Self.help(definition.family, definition.help, for: .openMetrics)
        self.text = Self.text(definition.name, definition.help, type: definition.type.name)
        var writer = ProtobufWriter()
        writer.string(1, definition.name)
        if !definition.help.isEmpty { writer.string(2, definition.help) }
        writer.number(3, definition.type.number)
        if !unit.isEmpty { writer.string(5, unit) }
        self.protobuf = writer.bytes
    }

    /// The lines of the text format.
    static func text(_ name: String, _ help: String, type: String) -> [UInt8] {
        Self.help(name, help, for: .text) + "# TYPE \(name) \(type)\n".utf8
    }

    private static func help(_ name: String, _ help: String, for format: ExpositionFormat) -> [UInt8] {
        help.isEmpty ? [] : Array("# HELP \(name) ".utf8) + Escaping.help(help, for: format) + "\n".utf8
    }
}

/// The families that a scrape requests with `name[]`, as in client_golang; without a name, all.
package struct FamilyChoice: Sendable {
    private let names: Set<String>

    /// All families.
    package static let all = FamilyChoice(names: [])

    /// The families with these names, with or without a counter's `_total`; unknown names select nothing.
    package init(names: some Sequence<String>) {
        self.names = Set(names)
    }

    func includes(_ definition: MetricDefinition) -> Bool {
        self.names.isEmpty || self.names.contains(definition.name) || self.names.contains(definition.family)
    }
}
