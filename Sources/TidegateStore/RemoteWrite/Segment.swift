/// One batch of samples in the buffer, ready to be sent.
struct Segment: Sendable, Hashable {
    /// Where its body is.
    enum Place: Sendable, Hashable {
        /// In a file.
        case disk
        /// Here, because the disk did not take it.
        case memory([UInt8])
    }

    /// Its place in the order in which batches are sent.
    let sequence: UInt64
    /// How many samples are in it.
    let samples: Int
    /// What it takes of the buffer, in whole blocks of the disk.
    let bytes: Int64
    var place = Place.disk

    /// The size of a block: a small file takes a whole one.
    private static let block = 4096

    /// A batch whose file has `length` bytes.
    init(sequence: UInt64, samples: Int, length: Int, place: Place = .disk) {
        self.sequence = sequence
        self.samples = samples
        self.bytes = Int64((max(1, length) + Segment.block - 1) / Segment.block * Segment.block)
        self.place = place
    }

    // MARK: The file

    static let ending = ".segment"

    /// `SEQUENCE-SAMPLES.segment`: how much is lost with a file is known also where nothing of it can be read.
    var fileName: String {
        let digits = String(self.sequence)
        return String(repeating: "0", count: max(0, 20 - digits.count)) + digits + "-\(self.samples)" + Segment.ending
    }

    /// A segment by its file's name; nil for the name of another file.
    init?(fileName: String, length: Int) {
        guard fileName.hasSuffix(Segment.ending) else { return nil }
        let parts = fileName.dropLast(Segment.ending.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let sequence = UInt64(parts[0]), sequence < .max / 2, let samples = Int(parts[1]),
            (0..<1_000_000_000).contains(samples)
        else { return nil }
        self.init(sequence: sequence, samples: samples, length: length)
        guard self.fileName == fileName else { return nil }
    }

    /// The file's content: `TGRW`, the version, the body's length and check as little-endian words, the body.
    static func content(of body: [UInt8]) -> [UInt8] {
        var content = Segment.mark
        for word in [UInt32(clamping: body.count), CyclicRedundancyCheck.sum(of: body)] {
            for shift in stride(from: UInt32(0), to: 32, by: 8) {
                content.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return content + body
    }

    /// The body in a file's content; nil where the file is not whole.
    static func body(in content: [UInt8]) -> [UInt8]? {
        let head = Segment.mark.count + 8
        guard content.count >= head, content.starts(with: Segment.mark) else { return nil }
        func word(at start: Int) -> UInt32 {
            (0..<4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32(content[start + $1]) }
        }
        let body = Array(content[head...])
        let isWhole = word(at: Segment.mark.count) == UInt32(clamping: body.count)
        return isWhole && word(at: Segment.mark.count + 4) == CyclicRedundancyCheck.sum(of: body) ? body : nil
    }

    private static let mark: [UInt8] = Array("TGRW".utf8) + [1, 0, 0, 0]
}
