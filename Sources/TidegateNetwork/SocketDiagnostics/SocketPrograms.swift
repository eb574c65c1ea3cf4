internal import Glibc
package import TidegateCore

/// Which processes have which sockets open.
package enum SocketPrograms {
    /// The processes behind the inodes of sockets, as far as this process may look at their descriptors
    /// (proc_pid_fd(5)): those of its own user, and with CAP_SYS_PTRACE all.
    ///
    /// Reads every descriptor of every process; for somebody who waits, not for a daemon's loop.
    package static func byInode() -> [UInt32: [SocketProgram]] {
        var programs: [UInt32: [SocketProgram]] = [:]
        for pid in self.names(in: "/proc").compactMap(Int32.init).sorted() {
            // A process may have a socket open more than once.
            let inodes = Set(
                self.names(in: "/proc/\(pid)/fd").compactMap { self.inode(behind: "/proc/\(pid)/fd/\($0)") })
            guard !inodes.isEmpty else { continue }
            let program = SocketProgram(pid: pid, name: self.name(of: pid))
            for inode in inodes { programs[inode, default: []].append(program) }
        }
        return programs
    }

    /// The entries of a directory; none of one that this process may not read, or that is gone.
    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }

    // The link of a socket reads `socket:[INODE]`.
    private static func inode(behind path: String) -> UInt32? {
        var bytes = [CChar](repeating: 0, count: 64)
        let count = readlink(path, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard text.hasPrefix("socket:["), text.hasSuffix("]") else { return nil }
        return UInt32(text.dropFirst("socket:[".count).dropLast())
    }

    private static func name(of pid: Int32) -> String {
        let descriptor = open("/proc/\(pid)/comm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count - 1)), as: UTF8.self)
    }
}
