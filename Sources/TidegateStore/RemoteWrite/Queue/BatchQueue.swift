/// The batches that wait to be sent, oldest first, within a bound.
struct BatchQueue: Sendable {
    private(set) var batches: [SampleBatch] = []
    private(set) var bytes: Int64 = 0
    private let bound: Int64

    /// A queue of batches that take at most `bound` bytes together.
    init(bound: Int64) { self.bound = bound }

    var first: SampleBatch? { self.batches.first }
    var samples: Int { self.batches.reduce(0) { $0 + $1.samples } }

    /// Adds the newest batch.
    mutating func append(_ batch: SampleBatch) {
        self.batches.append(batch)
        self.bytes += batch.bytes
    }

    /// Removes the oldest batch.
    mutating func removeFirst() -> SampleBatch? {
        guard !self.batches.isEmpty else { return nil }
        let batch = self.batches.removeFirst()
        self.bytes -= batch.bytes
        return batch
    }

    /// Removes the oldest batches until the rest fits the bound.
    ///
    /// The first one stays if it is being sent, and the newest one stays in any case.
    mutating func removeExcess(isSendingFirst: Bool) -> [SampleBatch] {
        let start = isSendingFirst ? 1 : 0
        var (end, bytes) = (start, self.bytes)
        while bytes > self.bound, end < self.batches.count - 1 {
            bytes -= self.batches[end].bytes
            end += 1
        }
        guard end > start else { return [] }
        defer {
            self.batches.removeSubrange(start..<end)
            self.bytes = bytes
        }
        return Array(self.batches[start..<end])
    }
}
