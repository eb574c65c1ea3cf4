package import TidegateCore

/// What becomes of an attempt.
///
/// In this order; `progress` any number of times; `finished` always, once and last, unless the attempt is discarded.
/// Never delivered from inside a call of the engine or of libcurl.
package enum AttemptReport: Sendable {
    /// There is a connection and the request is about to be sent: from here on the server may act on it.
    case wireReached(ConnectionFacts)
    /// The head of the final response (never 1xx).
    case head(ResponseHead)
    /// Body bytes moved; at most ten times a second, and always after the last byte of a burst, but for one that ends
    /// the attempt.
    case progress(AttemptProgress)
    /// The attempt is over.
    case finished(Indirect<AttemptOutcome>)
}

/// The connection an attempt uses.
package struct ConnectionFacts: Sendable, Hashable {
    /// Our address.
    package var local: IPAddress?
    /// The server's address, or the proxy's.
    package var remote: IPAddress?
    /// Whether an earlier attempt had made the connection.
    package var isReused: Bool = false
}

/// How far an attempt's bodies have come.
///
/// Counts are bytes of this attempt alone.
package struct AttemptProgress: Sendable, Hashable {
    /// Where the body being received starts: the resume point's offset if the server continues there, else 0.
    package var offset: Int64 = 0
    /// Response body bytes on the wire, before decoding.
    package var receivedWire: Int64 = 0
    /// Response body bytes written to the sink, after decoding.
    package var received: Int64 = 0
    /// The whole body on the wire, ``offset`` included; nil while unknown.
    package var expected: Int64?
    /// Request body bytes sent.
    package var sent: Int64 = 0
    /// When the last byte moved, either way; the attempt's start before that.
    package var lastActivity: MonotonicTime
}

extension AttemptProgress {
    /// Nothing has moved.
    package init(lastActivity: MonotonicTime) { self.lastActivity = lastActivity }
}
