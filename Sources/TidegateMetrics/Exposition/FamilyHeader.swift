/// A family's metadata, once for each kind of format.
struct FamilyHeader: Sendable {
    let openMetrics: [UInt8]
    let text: [UInt8]
    /// The fields of a protobuf `MetricFamily` before its metrics.
    let protobuf: [UInt8]

    init(_ definition: MetricDefinition) {
        var lines = Array("# TYPE \(definition.family) \(definition.type.name)\n".utf8)
        if !definition.unit.rawValue.isEmpty {
            lines += "# UNIT \(definition.family) \(definition.unit.rawValue)\n".utf8
        }
        if !definition.help.isEmpty {
            lines += Array("# HELP \(definition.family) ".utf8) + Escaping.help(definition.help, for: .openMetrics)
            lines.append(UInt8(ascii: "\n"))
        }
        self.openMetrics = lines
        var classic: [UInt8] = []
        if !definition.help.isEmpty {
            classic += Array("# HELP \(definition.name) ".utf8) + Escaping.help(definition.help, for: .text)
            classic.append(UInt8(ascii: "\n"))
        }
        self.text = classic + "# TYPE \(definition.name) \(definition.type.name)\n".utf8
        var writer = ProtobufWriter()
        writer.string(1, definition.name)
        if !definition.help.isEmpty { writer.string(2, definition.help) }
        writer.number(3, definition.type.number)
        if !definition.unit.rawValue.isEmpty { writer.string(5, definition.unit.rawValue) }
        self.protobuf = writer.bytes
    }
}

/// The families that a scrape requests, by `name[]` (as client_golang has it); without a name, all.
package struct FamilyChoice: Sendable {
    private let names: Set<String>

    /// Everything.
    package static let all = FamilyChoice(names: [])

    /// The families with these names, with or without a counter's `_total`; unknown names choose nothing.
    package init(names: some Sequence<String>) {
        self.names = Set(names)
    }

    func includes(_ definition: MetricDefinition) -> Bool {
        self.names.isEmpty || self.names.contains(definition.name) || self.names.contains(definition.family)
    }
}
