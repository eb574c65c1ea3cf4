package import TidegateCore

/// Gauges of a probe in Prometheus' text format, version 0.0.4.
package enum ProbeExposition {
    /// The value of Content-Type.
    package static var contentType: String { ExpositionFormat.text.contentType }

    /// The families in their order, each with its metadata.
    package static func text(_ families: [GaugeFamily]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(4096)
        for family in families {
            bytes += "# HELP ".utf8
            bytes += family.name.utf8
            bytes.append(UInt8(ascii: " "))
            bytes += Escaping.help(family.help, for: .text)
            bytes += "\n# TYPE ".utf8
            bytes += family.name.utf8
            bytes += " gauge\n".utf8
            for sample in family.samples {
                bytes += Escaping.samplePrefix(family.name, family.labels, sample.labels)
                bytes += self.number(sample.value).utf8
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        return bytes
    }

    // As Go writes floats, without a point in small whole numbers.
    private static func number(_ value: Double) -> String {
        value == value.rounded() && value.magnitude < 1e6 ? String(Int64(value)) : NumberText.float(value)
    }
}
