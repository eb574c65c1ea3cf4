internal import TidegateCore

/// How long to wait before trying again.
enum Backoff {
    /// Full jitter: anything from 0 to the base doubled with every failure in a row, and never above the cap.
    static func delay(
        afterFailure number: Int, policy: RetryPolicy, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        self.random(upTo: self.bound(afterFailure: number, policy: policy), using: &generator)
    }

    static func bound(afterFailure number: Int, policy: RetryPolicy) -> Duration {
        let doublings = min(max(0, number - 1), 40)
        var bound = policy.base
        for _ in 0..<doublings where bound < policy.cap { bound *= 2 }
        return min(bound, policy.cap)
    }

    static func random(upTo bound: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        let nanoseconds = bound.wholeNanoseconds
        guard nanoseconds > 0 else { return .zero }
        return .nanoseconds(Int64.random(in: 0...nanoseconds, using: &generator))
    }
}
