internal import Glibc

/// The sockets that this process has open, by their inodes.
package enum OwnInodes {
    /// The inodes of the sockets behind this process's descriptors (proc_pid_fd(5)).
    package static func read() -> Set<UInt32> {
        let folder = "/proc/self/fd"
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var inodes: Set<UInt32> = []
        var status = stat()
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let descriptor = Int32(name), fstat(descriptor, &status) == 0,
                status.st_mode & S_IFMT == S_IFSOCK
            else { continue }
            inodes.insert(UInt32(truncatingIfNeeded: status.st_ino))
        }
        return inodes
    }
}

/// Which listening sockets are this process's own; its descriptors are only looked at when there are others than before.
package struct OwnListeners {
    private var listed: Set<UInt32> = []
    private var own: Set<UInt32> = []

    /// Nothing was listed yet.
    package init() {}

    /// The inodes of this process's own sockets among some listeners.
    package mutating func inodes(of reports: [SocketReport]) -> Set<UInt32> {
        let listed = Set(reports.map(\.inode))
        if listed != self.listed { (self.listed, self.own) = (listed, OwnInodes.read().intersection(listed)) }
        return self.own
    }
}
