/// Why a daemon did not carry out a request on its control socket.
package struct ControlClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failures.
    package enum Reason: Sendable, Hashable {
        /// No daemon listens on the socket, or it is too busy.
        case noDaemon
        /// Somebody may listen there, but this user may not connect, or does not trust the user who does.
        case notAllowed
        /// The daemon refused, with this status.
        case refused(status: Int)
        /// The daemon closed the connection before it responded; the request may have been carried out.
        case disconnected
        /// What the daemon sent cannot be written.
        case notWritten
        /// The exchange failed.
        case exchangeFailed
    }

    /// The kind of failure.
    package let reason: Reason
    /// One sentence without a final full stop.
    package let description: String

    package init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}
