/// The place of a request in a distributed trace, as the fields `traceparent` and `tracestate` carry it (W3C Trace
/// Context, level 1).
public struct TraceContext: Sendable, Hashable {
    /// The trace that the request is part of.
    public let trace: TraceID
    /// The part of the trace that caused the request.
    public let parent: SpanID
    /// Whether the caller keeps this trace.
    public var isSampled: Bool
    /// The field `tracestate`, which is passed on unchanged; nil without one.
    public var state: String?

    /// The context that a field `traceparent` gives; nil if the text is not valid.
    ///
    /// It is `VERSION-TRACE-PARENT-FLAGS`: a version of 2 hexadecimal digits other than `ff`, a trace's id of 32 and a
    /// part's of 16, neither all zero, and 2 of flags, all in lower case. Additions of versions after `00` are left
    /// out. A `state` that a header field cannot carry is not sent.
    public init?(traceParent text: String, state: String? = nil) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0] != "ff", parts[0] != "00" || parts.count == 4,
            TraceContext.number(parts[0], digits: 2) != nil, let trace = TraceID(String(parts[1])),
            let parent = SpanID(String(parts[2])), let flags = TraceContext.number(parts[3], digits: 2)
        else { return nil }
        self.init(trace: trace, parent: parent, isSampled: flags & 1 == 1, state: state)
    }

    /// The beginning of a new trace, whose ids come from `generator`.
    public init(using generator: inout some RandomNumberGenerator) {
        self.init(trace: TraceID(using: &generator), parent: SpanID(using: &generator), isSampled: true, state: nil)
    }

    private init(trace: TraceID, parent: SpanID, isSampled: Bool, state: String?) {
        (self.trace, self.parent, self.isSampled, self.state) = (trace, parent, isSampled, state)
    }

    /// The field `traceparent` for what `parent` caused in this trace.
    package func traceParent(from parent: SpanID) -> String {
        "00-\(self.trace)-\(parent)-\(self.isSampled ? "01" : "00")"
    }

    /// The field `traceparent`, as it was given or made.
    public var traceParent: String { self.traceParent(from: self.parent) }

    // Hexadecimal digits in lower case, and exactly so many.
    fileprivate static func number(_ text: some StringProtocol, digits: Int) -> UInt64? {
        let isNumber = text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return isNumber && text.utf8.count == digits ? UInt64(text, radix: 16) : nil
    }
}

/// The id of a trace: 16 bytes, not all zero.
public struct TraceID: Sendable, Hashable, LosslessStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// An id from 32 hexadecimal digits in lower case; nil for any other text, and if all are zero.
    public init?(_ description: String) {
        guard let high = TraceContext.number(description.prefix(16), digits: 16),
            let low = TraceContext.number(description.dropFirst(16), digits: 16), high | low != 0
        else { return nil }
        (self.high, self.low) = (high, low)
    }

    init(using generator: inout some RandomNumberGenerator) {
        (self.high, self.low) = (generator.next(), max(1, generator.next()))
    }

    /// 32 hexadecimal digits in lower case.
    public var description: String { self.high.hexadecimal + self.low.hexadecimal }
}

/// The id of a part of a trace, called a span there: 8 bytes, not all zero.
public struct SpanID: Sendable, Hashable, LosslessStringConvertible {
    private let number: UInt64

    /// An id from 16 hexadecimal digits in lower case; nil for any other text, and if all are zero.
    public init?(_ description: String) {
        guard let number = TraceContext.number(description, digits: 16), number != 0 else { return nil }
        self.number = number
    }

    package init(using generator: inout some RandomNumberGenerator) { self.number = max(1, generator.next()) }

    /// 16 hexadecimal digits in lower case.
    public var description: String { self.number.hexadecimal }
}

extension UInt64 {
    /// 16 hexadecimal digits in lower case.
    var hexadecimal: String { String(self, radix: 16).padded(to: 16) }
}
