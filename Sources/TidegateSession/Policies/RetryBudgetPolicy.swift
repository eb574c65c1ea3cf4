/// The retry budget of an origin: a bucket of tokens that successes and time refill.
public struct RetryBudgetPolicy: Sendable, Hashable {
    /// How many tokens the bucket holds, and starts with.
    public let tokens: Double
    /// What a retry costs.
    public let retryCost: Double
    /// What a retry costs if the server never received the request, or asked for a later one.
    public let connectCost: Double
    /// Tokens that come back in a second.
    public let refillPerSecond: Double

    /// 500 tokens, 14 for a retry, 5 for a connection, one back per second.
    public static let standard = RetryBudgetPolicy(unchecked: 500, retryCost: 14, connectCost: 5, refillPerSecond: 1)

    /// A budget; what is left out is as in ``standard``.
    ///
    /// - Throws: ``PolicyError`` if a number is negative or not finite.
    public init(
        tokens: Double = 500, retryCost: Double = 14, connectCost: Double = 5, refillPerSecond: Double = 1
    ) throws(PolicyError) {
        let fields = [
            ("budget.tokens", tokens), ("budget.retry_cost", retryCost), ("budget.connect_cost", connectCost),
            ("budget.refill_per_second", refillPerSecond),
        ]
        for (field, value) in fields {
            try PolicyError.check(value.isFinite && value >= 0, field, "\(value) is not 0 or more")
        }
        self.init(
            unchecked: tokens, retryCost: retryCost, connectCost: connectCost, refillPerSecond: refillPerSecond)
    }

    private init(unchecked tokens: Double, retryCost: Double, connectCost: Double, refillPerSecond: Double) {
        self.tokens = tokens
        self.retryCost = retryCost
        self.connectCost = connectCost
        self.refillPerSecond = refillPerSecond
    }
}
