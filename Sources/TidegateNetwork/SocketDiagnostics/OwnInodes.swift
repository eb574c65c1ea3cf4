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
