internal import Glibc
internal import TidegateCore

/// What tells that a file is not the one any more that was read (stat(2)).
struct FileStamp: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let modified: Int64
    private let changed: Int64

    /// The stamp of what is at a path now; nil where nothing is.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
        self.modified = Self.nanoseconds(status.st_mtim)
        self.changed = Self.nanoseconds(status.st_ctim)
    }

    /// False while a further change could leave the stamp as it is: file systems count time in steps.
    func isSettled(at now: WallTime) -> Bool { now.microseconds - self.changed / 1000 > 2_000_000 }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
