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
