/// What waits to be sent, oldest first, within a bound.
struct SegmentQueue: Sendable {
    private(set) var segments: [Segment] = []
    private(set) var bytes: Int64 = 0
    private let bound: Int64

    /// A queue of segments that take at most `bound` bytes together.
    init(bound: Int64) { self.bound = bound }

    var first: Segment? { self.segments.first }
    var samples: Int { self.segments.reduce(0) { $0 + $1.samples } }

    /// Adds the newest segment.
    mutating func append(_ segment: Segment) {
        self.segments.append(segment)
        self.bytes += segment.bytes
    }

    /// Takes the oldest segment.
    mutating func removeFirst() -> Segment? {
        guard !self.segments.isEmpty else { return nil }
        let segment = self.segments.removeFirst()
        self.bytes -= segment.bytes
        return segment
    }

    /// Takes the oldest segments until the rest fits; the first one stays where it is `isBusy`, being sent, and the
    /// newest one in any case.
    mutating func shrink(isBusy: Bool) -> [Segment] {
        let start = isBusy ? 1 : 0
        var (end, bytes) = (start, self.bytes)
        while bytes > self.bound, end < self.segments.count - 1 {
            bytes -= self.segments[end].bytes
            end += 1
        }
        guard end > start else { return [] }
        defer {
            self.segments.removeSubrange(start..<end)
            self.bytes = bytes
        }
        return Array(self.segments[start..<end])
    }
}
