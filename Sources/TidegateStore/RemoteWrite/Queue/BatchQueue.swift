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

/// Samples that are sent in one request.
struct SampleBatch: Sendable, Hashable {
    /// Where the request's body is.
    enum Location: Sendable, Hashable {
        /// In the queue's file.
        case file
        /// Here, because it could not be written to the file.
        case memory([UInt8])
    }

    /// Its place in the order of sending.
    let sequence: Int64
    /// How many samples it has.
    let samples: Int
    /// What it takes of the queue's bound, in bytes: whole pages of the file.
    let bytes: Int64
    var location = Location.file

    private static let pageSize = 4096

    /// A batch whose body has `length` bytes.
    init(sequence: Int64, samples: Int, length: Int, location: Location = .file) {
        self.sequence = sequence
        self.samples = samples
        self.bytes = Int64((max(1, length) + SampleBatch.pageSize - 1) / SampleBatch.pageSize * SampleBatch.pageSize)
        self.location = location
    }
}
