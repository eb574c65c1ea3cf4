package import TidegateCore

/// Which processes have which sockets open.
package enum SocketPrograms {
    /// The processes behind the inodes of sockets, as far as this process may look at their descriptors
    /// (proc_pid_fd(5)): those of its own user, and with CAP_SYS_PTRACE all.
    ///
    /// Reads every descriptor of every process; for somebody who waits, not for a daemon's loop.
    package static func byInode() -> [UInt32: [SocketProgram]] {
        var programs: [UInt32: [SocketProgram]] = [:]
        for pid in SystemFiles.names(in: "/proc").compactMap(Int32.init).sorted() {
            let inodes = self.inodes(in: "/proc/\(pid)/fd")
            guard !inodes.isEmpty else { continue }
            let name = SystemFiles.text("/proc/\(pid)/comm") ?? ""
            let program = SocketProgram(pid: pid, name: String(name.dropLast()))
            for inode in inodes { programs[inode, default: []].append(program) }
        }
        return programs
    }

    /// The inodes of the sockets that this process has open.
    package static func ownInodes() -> Set<UInt32> { self.inodes(in: "/proc/self/fd") }

    // The link of a socket reads `socket:[INODE]`. A process may have a socket open more than once.
    private static func inodes(in folder: String) -> Set<UInt32> {
        let targets = SystemFiles.names(in: folder).compactMap { SystemFiles.target(of: "\(folder)/\($0)") }
        return Set(
            targets.compactMap { target in
                guard target.hasPrefix("socket:["), target.hasSuffix("]") else { return nil }
                return UInt32(target.dropFirst("socket:[".count).dropLast())
            })
    }
}
