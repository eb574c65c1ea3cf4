/// A closed set of label values: cardinality is known to the compiler.
package protocol MetricLabel: CaseIterable, Hashable, Sendable {
    /// The value as it stands in a series; snake_case.
    var label: String { get }
}

extension MetricLabel where Self: RawRepresentable, RawValue == String {
    /// The raw value turned from camelCase to snake_case.
    package var label: String {
        self.rawValue.reduce(into: "") { text, character in
            if character.isUppercase, !text.isEmpty { text.append("_") }
            text.append(character.lowercased())
        }
    }
}
