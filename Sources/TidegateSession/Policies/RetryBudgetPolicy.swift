package import TidegateCore

/// The retry budget of an origin: a bucket of tokens that successes and time refill.
///
/// Every number is finite and 0 or more.
public struct RetryBudgetPolicy: Sendable, Hashable {
    /// How many tokens the bucket holds, and starts with.
    public var tokens: Double
    /// What a retry costs.
    public var retryCost: Double
    /// What a retry costs if the server never received the request, or asked for a later one.
    public var connectCost: Double
    /// Tokens that come back in a second.
    public var refillPerSecond: Double

    /// A budget.
    public init(tokens: Double = 500, retryCost: Double = 14, connectCost: Double = 5, refillPerSecond: Double = 1) {
        self.tokens = tokens
        self.retryCost = retryCost
        self.connectCost = connectCost
        self.refillPerSecond = refillPerSecond
    }

    package func validate() throws(ConfigurationValueError) {
        let properties = [
            ("budget.tokens", self.tokens), ("budget.retryCost", self.retryCost),
            ("budget.connectCost", self.connectCost), ("budget.refillPerSecond", self.refillPerSecond),
        ]
        for (property, value) in properties {
            try ConfigurationValueError.check(value.isFinite && value >= 0, property, "\(value) is not 0 or more")
        }
    }
}
