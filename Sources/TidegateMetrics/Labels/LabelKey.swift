internal import TidegateCore

/// The label values of one child, in the order of its family's label names.
protocol LabelKey: Hashable, Sendable {
    var values: [String] { get }
}

/// One label out of a closed set.
struct Label1<Label: MetricLabel>: LabelKey {
    let label: Label

    init(_ label: Label) { self.label = label }

    var values: [String] { [self.label.label] }
}

/// Two labels out of closed sets.
struct Label2<First: MetricLabel, Second: MetricLabel>: LabelKey {
    let first: First
    let second: Second

    init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    var values: [String] { [self.first.label, self.second.label] }
}

/// One label whose number of values another type bounds.
struct StringLabel: LabelKey {
    let value: String

    init(_ value: String) { self.value = value }

    var values: [String] { [self.value] }
}

/// Several labels whose number of values other types bound.
struct TextLabels: LabelKey {
    let values: [String]

    init(_ values: String...) { self.values = values }
}

/// What a task did with bodies, and how it ended.
struct CompletionKey: FixedLabelKey {
    let kind: TaskKind
    let outcome: TaskOutcome

    static var allKeys: [CompletionKey] {
        TaskKind.allCases.flatMap { kind in TaskOutcome.allCases.map { CompletionKey(kind: kind, outcome: $0) } }
    }

    var ordinal: Int {
        switch self.outcome {
        case .success: 3 * self.kind.ordinal
        case .failure: 3 * self.kind.ordinal + 1
        case .cancelled: 3 * self.kind.ordinal + 2
        }
    }

    var values: [String] { [self.kind.label, self.outcome.label] }
}
