/// A policy was given a value that it cannot have; names the field as the configuration file spells it.
public struct PolicyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The field as the configuration file spells it: `retry.attempts`.
    public let field: String
    /// What is wrong with the value.
    public let problem: String

    /// An error about one field.
    public init(field: String, problem: String) {
        self.field = field
        self.problem = problem
    }

    /// `FIELD: PROBLEM`, without a final full stop.
    public var description: String { "\(self.field): \(self.problem)" }
}

extension PolicyError {
    static func check(_ isGood: Bool, _ field: String, _ problem: @autoclosure () -> String) throws(PolicyError) {
        guard isGood else { throw PolicyError(field: field, problem: problem()) }
    }
}
