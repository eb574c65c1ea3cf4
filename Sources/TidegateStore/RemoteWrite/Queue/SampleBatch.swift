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
