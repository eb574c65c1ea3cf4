internal import TidegateCore
internal import TidegateTransfer

/// What nobody but the session's thread can count, for whoever asks.
extension SessionLoop {
    func count() {
        var counted = TaskRegistry.Counted()
        counted.idleConnections = self.engine.connections.idle
        if self.configuration.tellsRetryTokens { counted.retryTokens = self.retryTokens }
        self.surroundings.registry.note(counted)
    }

    private var retryTokens: [String: Double] {
        var tokens: [String: Double] = [:]
        for (origin, budget) in self.budgets.all {
            tokens[origin.target.host, default: .infinity].lower(to: budget.tokens(at: self.now))
        }
        return tokens
    }
}

extension Double {
    fileprivate mutating func lower(to other: Double) { self = min(self, other) }
}
