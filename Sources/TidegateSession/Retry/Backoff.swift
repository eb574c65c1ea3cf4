internal import TidegateCore

/// How long to wait before a retry.
enum Backoff {
    /// Full jitter: between 0 and the base, doubled with every consecutive failure, and never above the cap.
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

/// A server's request when to retry (RFC 9110 10.2.3).
enum RetryAfter {
    /// The longest accepted wait, in seconds.
    private static let longest: Int64 = 86_400

    /// Parses a `Retry-After` field; a date is compared with the response's own `Date`, so that our clock does not
    /// matter.
    ///
    /// Nil if the field is malformed, as a negative number is: then it counts as absent.
    static func parse(_ field: String, date: String?, now: WallTime) -> Duration? {
        let text = field.drop { $0 == " " }
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
            return .seconds(min(Int64(text) ?? .max, self.longest))
        }
        let local = now.microseconds / 1_000_000
        let year = 1970 + Int(local / 31_556_952)
        guard let moment = HTTPDate.parse(String(text), year: year) else { return nil }
        let reference = date.flatMap { HTTPDate.parse($0, year: year) } ?? local
        return .seconds(min(max(0, moment - reference), self.longest))
    }

    /// Extends the wait by a random time, so that clients do not all return at the same moment; never shorter than
    /// requested.
    static func spread(_ wait: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        let room = min(Duration.seconds(30), wait / 10)
        return wait + Backoff.random(upTo: room, using: &generator)
    }
}
