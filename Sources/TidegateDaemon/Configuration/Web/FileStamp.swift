internal import Glibc
internal import TidegateCore

/// The attributes of a file that change when its contents do (stat(2)).
struct FileStamp: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let modified: Int64
    private let changed: Int64

    /// The stamp of the file at a path now; nil if there is none.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
        self.modified = Self.nanoseconds(status.st_mtim)
        self.changed = Self.nanoseconds(status.st_ctim)
    }

    /// False while another change could leave the stamp unchanged: file system timestamps are coarse.
    func isSettled(at now: WallTime) -> Bool { now.microseconds - self.changed / 1000 > 2_000_000 }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
