/// The value of a Content-Range field (RFC 9110 section 14.4).
struct ContentRange: Hashable {
    /// The first and last byte of the body sent; nil if the range cannot be satisfied.
    let bounds: ClosedRange<Int64>?
    /// The length of the whole body; nil if the server does not know it.
    let total: Int64?

    /// Parses `bytes 5-9/10`, `bytes 5-9/*` or `bytes */10`; nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let range = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard range.count == 2 else { return nil }
        let total = range[1] == "*" ? nil : HeaderBlock.count(range[1].utf8)
        guard total != nil || range[1] == "*" else { return nil }
        self.total = total
        if range[0] == "*" {
            guard total != nil else { return nil }
            self.bounds = nil
            return
        }
        let ends = range[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = HeaderBlock.count(ends[0].utf8), let last = HeaderBlock.count(ends[1].utf8),
            first <= last, last < (total ?? .max)
        else { return nil }
        self.bounds = first...last
    }
}

extension ClosedRange<Int64> {
    /// How many bytes it has.
    var length: Int64 { self.upperBound - self.lowerBound + 1 }
}
