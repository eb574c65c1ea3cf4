/// The label values of one series.
package protocol LabelKey: Hashable, Sendable {
    /// The values, in the order of the label names.
    var values: [String] { get }
}

/// A closed set of label values: cardinality is known to the compiler.
package protocol MetricLabel: CaseIterable, LabelKey {
    /// The value as it stands in a series; snake_case.
    var label: String { get }
}

extension MetricLabel {
    /// A single label is a key.
    package var values: [String] { [self.label] }
}

extension MetricLabel where Self: RawRepresentable, RawValue == String {
    /// The raw value turned from camelCase to snake_case.
    package var label: String {
        // Bytes: every name is ASCII, and the properties of characters cost a look-up each.
        var bytes: [UInt8] = []
        for byte in self.rawValue.utf8 {
            guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) else {
                bytes.append(byte)
                continue
            }
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "_")) }
            bytes.append(byte | 0x20)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Whether metrics label attempts with the host; the number of series is bounded in any case.
public enum HostLabel: Sendable, Hashable {
    /// They do not.
    case off
    /// By these hosts; the others are one, `_other`.
    case allowlist(Set<String>)
    /// By every host, but by the first `limit` ones only; later ones share `_other`, and are counted.
    case top(limit: Int)
}
