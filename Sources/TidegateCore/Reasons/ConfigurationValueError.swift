/// A property of a configuration has a value outside its range.
public struct ConfigurationValueError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The property's path from the configuration: `retry.attempts`.
    public let property: String
    /// What is wrong with the value, and what its range is.
    public let problem: String

    package init(property: String, problem: String) {
        self.property = property
        self.problem = problem
    }

    /// `PROPERTY: PROBLEM`, without a final full stop.
    public var description: String { "\(self.property): \(self.problem)" }

    package static func check(
        _ isGood: Bool, _ property: String, _ problem: @autoclosure () -> String
    ) throws(ConfigurationValueError) {
        guard isGood else { throw ConfigurationValueError(property: property, problem: problem()) }
    }
}
