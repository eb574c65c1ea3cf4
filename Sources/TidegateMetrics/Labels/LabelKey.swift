internal import TidegateModel

/// The label values of one child, in the order of its family's label names.
protocol LabelKey: Hashable, Sendable {
    var values: [String] { get }
}

/// One label out of a closed set.
struct One<Label: MetricLabel>: LabelKey {
    let label: Label

    init(_ label: Label) { self.label = label }

    var values: [String] { [self.label.label] }
}

/// Two labels out of closed sets.
struct Two<First: MetricLabel, Second: MetricLabel>: LabelKey {
    let first: First
    let second: Second

    init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    var values: [String] { [self.first.label, self.second.label] }
}

/// One label whose words another type keeps few.
struct Word: LabelKey {
    let word: String

    init(_ word: String) { self.word = word }

    var values: [String] { [self.word] }
}
