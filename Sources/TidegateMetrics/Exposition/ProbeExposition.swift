package import TidegateCore

/// Gauges of a probe in Prometheus' text format, version 0.0.4.
package enum ProbeExposition {
    /// The value of Content-Type.
    package static var contentType: String { ExpositionFormat.text.contentType }

    /// The families in their order, each with its metadata.
    package static func text(_ families: [GaugeFamily]) -> [UInt8] {
        families.reduce(into: []) { bytes, family in
            bytes += Array("# HELP \(family.name) ".utf8) + Escaping.help(family.help, for: .text)
            bytes += "\n# TYPE \(family.name) gauge\n".utf8
            for sample in family.samples {
                bytes += Escaping.samplePrefix(family.name, family.labels, sample.labels)
                bytes += "\(self.number(sample.value))\n".utf8
            }
        }
    }

    // As Go writes floats, without a point in small whole numbers.
    private static func number(_ value: Double) -> String {
        value == value.rounded() && value.magnitude < 1e6 ? String(Int64(value)) : NumberText.float(value)
    }
}
