/// Why a daemon did not do what it was asked for.
package struct ControlFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failures.
    package enum Reason: Sendable, Hashable {
        /// Nobody answers, or not to this user.
        case noDaemon
        /// The daemon refused, with this status.
        case refused(status: Int)
        /// The daemon went away before it had answered; what it was asked for may have been done.
        case hungUp
        /// The conversation broke.
        case broken
    }

    /// The kind of failure.
    package let reason: Reason
    /// One sentence without a final full stop.
    package let description: String

    package init(_ reason: Reason, _ sentence: String) {
        self.reason = reason
        self.description = sentence
    }
}
