internal import TidegateCore

/// The tokens that pay for one origin's retries.
struct RetryBudget: Sendable {
    private let policy: RetryBudgetPolicy
    private(set) var tokens: Double
    private var counted: MonotonicTime

    init(_ policy: RetryBudgetPolicy, at now: MonotonicTime) {
        self.policy = policy
        self.tokens = policy.tokens
        self.counted = now
    }

    /// Pays for a retry; false if the bucket does not hold enough, in which case nothing is taken.
    mutating func pay(_ price: RetryPrice, at now: MonotonicTime) -> Bool {
        self.refill(at: now)
        let cost = self.cost(of: price)
        guard self.tokens >= cost else { return false }
        self.tokens -= cost
        return true
    }

    /// Records a success: adds one token and the cost of the attempt's own retry.
    mutating func succeeded(refunding price: RetryPrice?, at now: MonotonicTime) {
        self.refill(at: now)
        self.tokens = min(self.policy.tokens, self.tokens + 1 + (price.map(self.cost) ?? 0))
    }

    /// How long until the bucket covers a retry; an hour if it never does.
    mutating func timeToPay(_ price: RetryPrice, at now: MonotonicTime) -> Duration {
        self.refill(at: now)
        let missing = self.cost(of: price) - self.tokens
        guard missing > 0 else { return .zero }
        guard self.policy.refillPerSecond > 0 else { return .seconds(3600) }
        return .seconds(min(3600, missing / self.policy.refillPerSecond))
    }

    /// True if the bucket is full, like a new one.
    func isFull(at now: MonotonicTime) -> Bool { self.tokens(at: now) >= self.policy.tokens }

    /// The current tokens.
    func tokens(at now: MonotonicTime) -> Double {
        var later = self
        later.refill(at: now)
        return later.tokens
    }

    private mutating func refill(at now: MonotonicTime) {
        let earned = (now - self.counted).inSeconds * self.policy.refillPerSecond
        self.counted = now
        self.tokens = min(self.policy.tokens, self.tokens + max(0, earned))
    }

    private func cost(of price: RetryPrice) -> Double {
        switch price {
        case .free: 0
        case .connect: self.policy.connectCost
        case .full: self.policy.retryCost
        }
    }
}

/// The cost of a retry.
enum RetryPrice: Sendable, Hashable {
    /// The server was never contacted, so the retry costs nothing.
    case free
    /// The server never saw the request, or requested a later one.
    case connect
    /// The server saw the request.
    case full
}
