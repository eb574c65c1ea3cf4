internal import Glibc

/// SQLite's write-ahead log of a file, read before SQLite does: what it cannot verify it ignores, with all that follows.
///
/// The format is that of https://www.sqlite.org/fileformat2.html, section 4.
struct WriteAheadLog {
    private static let headerSize = 32
    private static let frameHeaderSize = 24

    private let bytes: [UInt8]
    private let pageSize: Int
    private let isBigEndian: Bool

    /// What is wrong with the log at a path; nil if it is whole, ends within a transaction, or does not exist.
    ///
    /// The last transaction may be incomplete: the machine lost power before anybody was told that it is durable. But
    /// each is written only after the one before it was durable, so that two after a bad frame mean damage.
    static func damage(at path: String) -> String? {
        guard let bytes = self.read(path), bytes.count > self.headerSize + self.frameHeaderSize else { return nil }
        guard let log = WriteAheadLog(bytes) else { return "the header of \(path) is damaged" }
        return log.firstBadFrame.map { "frame \($0) of \(path) is damaged" }
    }

    // Nil if the header is not one, or its checksum is another.
    private init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        let magic = WriteAheadLog.number(bytes, 0)
        guard magic & 0xFFFF_FFFE == 0x377F_0682 else { return nil }
        self.isBigEndian = magic & 1 == 1
        let size = Int(WriteAheadLog.number(bytes, 8))
        guard size >= 512, size <= 65_536, size & (size - 1) == 0 else { return nil }
        self.pageSize = size
        let sum = self.checksum(of: 0..<24, after: (0, 0))
        guard sum == (WriteAheadLog.number(bytes, 24), WriteAheadLog.number(bytes, 28)) else { return nil }
    }

    /// The number, from 1, of a frame that was whole once and is not any more.
    private var firstBadFrame: Int? {
        let frameSize = WriteAheadLog.frameHeaderSize + self.pageSize
        var sum = (WriteAheadLog.number(self.bytes, 24), WriteAheadLog.number(self.bytes, 28))
        var (bad, commits): (Int?, Int) = (nil, 0)
        var start = WriteAheadLog.headerSize
        while start + frameSize <= self.bytes.count {
            // Frames of an earlier use of the file have other salts.
            let isCurrent = self.bytes[start + 8..<start + 16] == self.bytes[16..<24]
            if bad == nil {
                sum = self.checksum(of: start..<start + 8, after: sum)
                sum = self.checksum(of: start + WriteAheadLog.frameHeaderSize..<start + frameSize, after: sum)
                let stored = (
                    WriteAheadLog.number(self.bytes, start + 16), WriteAheadLog.number(self.bytes, start + 20)
                )
                if !isCurrent || sum != stored { bad = (start - WriteAheadLog.headerSize) / frameSize + 1 }
            } else if isCurrent, WriteAheadLog.number(self.bytes, start + 4) != 0 {
                commits += 1
            }
            start += frameSize
        }
        return commits >= 2 ? bad : nil
    }

    private func checksum(of range: Range<Int>, after start: (UInt32, UInt32)) -> (UInt32, UInt32) {
        var sum = start
        for position in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
            sum.0 = sum.0 &+ self.word(position) &+ sum.1
            sum.1 = sum.1 &+ self.word(position + 4) &+ sum.0
        }
        return sum
    }

    private func word(_ position: Int) -> UInt32 {
        let number = WriteAheadLog.number(self.bytes, position)
        return self.isBigEndian ? number : number.byteSwapped
    }

    // Big-endian.
    private static func number(_ bytes: [UInt8], _ position: Int) -> UInt32 {
        UInt32(bytes[position]) << 24 | UInt32(bytes[position + 1]) << 16 | UInt32(bytes[position + 2]) << 8
            | UInt32(bytes[position + 3])
    }

    private static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < bytes.count {
            let count = bytes[filled...].withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            filled += count
        }
        return Array(bytes[..<filled])
    }
}
