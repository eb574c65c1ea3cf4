/// An expression whose names and functions are known, as it is evaluated.
indirect enum CheckedExpression: Sendable {
    case literal(Value)
    /// The variable in this place of the evaluator's.
    case variable(Int)
    case select(CheckedExpression, field: [UInt8])
    /// Whether there is such a field.
    case has(CheckedExpression, field: [UInt8])
    case call(Function, [CheckedExpression])
    /// `matches()` with a pattern that was known before.
    case matches(CheckedExpression, RegularExpression)
    case list([CheckedExpression])
    case map([(key: CheckedExpression, value: CheckedExpression)])
    case every([CheckedExpression])
    case any([CheckedExpression])
    case conditional(CheckedExpression, CheckedExpression, CheckedExpression)
    case comprehension(CheckedComprehension)
}

/// A macro over a list or a map.
struct CheckedComprehension: Sendable {
    let kind: SyntaxComprehension.Kind
    let range: CheckedExpression
    /// Where the element stands.
    let variable: Int
    /// The condition on an element; nil for a `map` of all.
    let predicate: CheckedExpression?
    /// What `map` makes of an element.
    let transform: CheckedExpression?
}
