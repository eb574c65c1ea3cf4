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
enum RetryAfter: Sendable, Hashable {
    /// Not before this time has passed.
    case wait(Duration)
    /// Never.
    case never

    /// The longest accepted wait.
    static let longest = Duration.seconds(86_400)

    /// Parses a `Retry-After` field; a date is compared with the response's own `Date`, so that our clock does not
    /// matter.
    ///
    /// Nil if the field is malformed.
    static func parse(_ field: String, date: String?, now: WallTime) -> RetryAfter? {
        let text = field.drop { $0 == " " }
        if text.hasPrefix("-"), Int64(text) != nil { return .never }
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
            let seconds = Int64(text) ?? .max
            return .wait(.seconds(min(seconds, 86_400)))
        }
        let local = now.microseconds / 1_000_000
        let year = 1970 + Int(local / 31_556_952)
        guard let moment = HTTPDate.parse(String(text), year: year) else { return nil }
        let reference = date.flatMap { HTTPDate.parse($0, year: year) } ?? local
        return .wait(.seconds(min(max(0, moment - reference), 86_400)))
    }

    /// Extends the wait by a random time, so that clients do not all return at the same moment; never shorter than
    /// requested.
    static func spread(_ wait: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        let room = min(Duration.seconds(30), wait / 10)
        return wait + Backoff.random(upTo: room, using: &generator)
    }
}
