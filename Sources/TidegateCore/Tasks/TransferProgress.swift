/// How far a task's bodies have come, in bytes.
public struct TransferProgress: Sendable, Hashable, CustomStringConvertible {
    /// Where this attempt's response body started: bytes held before it.
    public var offset: Int64
    /// Response body bytes on the wire in this attempt, before decoding.
    public var receivedWire: Int64
    /// Response body bytes delivered in this attempt, after decoding.
    public var received: Int64
    /// The whole response body on the wire, ``offset`` included; nil if it is unknown.
    public var expected: Int64?
    /// Request body bytes sent in this attempt.
    public var sent: Int64
    /// The whole request body; nil if it is unknown.
    public var expectedSent: Int64?
    /// The attempt, from 1; 0 before the first.
    public var attempt: Int

    /// A progress from its parts.
    package init(
        offset: Int64 = 0, receivedWire: Int64 = 0, received: Int64 = 0, expected: Int64? = nil, sent: Int64 = 0,
        expectedSent: Int64? = nil, attempt: Int = 0
    ) {
        (self.offset, self.receivedWire, self.received, self.expected) = (offset, receivedWire, received, expected)
        (self.sent, self.expectedSent, self.attempt) = (sent, expectedSent, attempt)
    }

    /// The share of the response body that has arrived, 0 to 1; nil while its length is unknown.
    public var fraction: Double? { Self.share(self.offset + self.receivedWire, of: self.expected) }

    /// True while the request's body is being sent: some of it is not sent yet, and nothing of the response has
    /// arrived.
    public var isSending: Bool {
        guard self.receivedWire == 0 else { return false }
        return self.expectedSent.map { self.sent < $0 } ?? (self.sent > 0)
    }

    /// The body that is moving: the request's while it is sent, or else the response's.
    package var current: BodyProgress {
        self.isSending
            ? BodyProgress(isSent: true, bytes: self.sent, total: self.expectedSent, fraction: self.fractionSent)
            : BodyProgress(
                isSent: false, bytes: self.offset + self.receivedWire, total: self.expected, fraction: self.fraction)
    }

    /// The share of the request body that was sent, 0 to 1; nil while its length is unknown.
    public var fractionSent: Double? { Self.share(self.sent, of: self.expectedSent) }

    /// The share of a length that some bytes are, 0 to 1; nil while the length is unknown.
    package static func share(_ bytes: Int64, of whole: Int64?) -> Double? {
        whole.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 }
    }

    /// The sum of two lengths; nil if one of them is unknown, `Int64.max` if it is larger than that.
    package static func sum(_ one: Int64?, _ other: Int64?) -> Int64? {
        guard let one, let other else { return nil }
        // A server may claim any length.
        let (sum, isTooLarge) = one.addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }

    /// The progress of the body that is moving: `1.5 KiB of 5.0 GiB`, and of a request's `1.5 KiB of 5.0 GiB sent`.
    public var description: String { self.current.description }
}

/// How far one of a task's two bodies has come.
package struct BodyProgress: Sendable, Hashable, CustomStringConvertible {
    /// True for the request's body.
    package let isSent: Bool
    package let bytes: Int64
    /// The whole body; nil if its length is unknown.
    package let total: Int64?
    /// The share of it, 0 to 1; nil while its length is unknown.
    package let fraction: Double?

    package var description: String {
        let bytes = self.total.map { "\(ByteText(self.bytes)) of \(ByteText($0))" } ?? ByteText(self.bytes).description
        return self.isSent ? "\(bytes) sent" : bytes
    }
}
