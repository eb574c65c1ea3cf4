internal import Glibc

/// The place of a Unix socket in the file system.
struct ControlSocketPath: Sendable {
    let path: String

    /// Makes room for a new socket: its directory is made, one that nobody listens at any more is removed.
    ///
    /// - Throws: ``ControlError`` where somebody listens there, or where something else has the name.
    func clear() throws(ControlError) {
        guard self.path.utf8.count < 108 else {
            throw ControlError("the path of the control socket \(self.path) is longer than the 107 bytes it may have")
        }
        try self.makeDirectory()
        var status = stat()
        guard lstat(self.path, &status) == 0 else {
            guard errno == ENOENT else { throw self.error(errno) }
            return
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ControlError("\(self.path) is there already and is no socket")
        }
        guard !self.isLive() else { throw ControlError("another daemon answers at the control socket \(self.path)") }
        guard unlink(self.path) == 0 || errno == ENOENT else { throw self.error(errno) }
    }

    /// Lets the owner and the group in, and nobody else.
    func restrict() throws(ControlError) {
        guard chmod(self.path, 0o660) == 0 else { throw self.error(errno) }
    }

    /// What tells the socket from one that another daemon made at the same path.
    struct Identity: Sendable, Hashable {
        var device: UInt64
        var inode: UInt64
    }

    /// The socket that is there; nil where none is.
    var identity: Identity? {
        var status = stat()
        guard lstat(self.path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// Removes the socket where it is still the same one.
    func remove(_ own: Identity?) {
        if let own, own == self.identity { unlink(self.path) }
    }

    private func makeDirectory() throws(ControlError) {
        guard let slash = self.path.lastIndex(of: "/"), slash != self.path.startIndex else { return }
        let directory = String(self.path[..<slash])
        var made = directory.hasPrefix("/") ? "" : "."
        for part in directory.split(separator: "/") {
            made += "/\(part)"
            guard mkdir(made, 0o755) == 0 || errno == EEXIST else { throw self.error(errno) }
        }
    }

    private func isLive() -> Bool {
        // Not blocking: a daemon that is too busy to accept must not stop this one.
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = socket(AF_UNIX, Int32(kind), 0)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: self.path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        // A full queue or a missing permission also means that somebody is there.
        return result == 0 || (errno != ECONNREFUSED && errno != ENOENT)
    }

    private func error(_ code: Int32) -> ControlError {
        let words = strerror(code).map { String(cString: $0) } ?? "error \(code)"
        return ControlError("cannot listen at the control socket \(self.path): \(words)")
    }
}

/// Why the control socket cannot be served, in one sentence that names it.
package struct ControlError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence without a final full stop.
    package let description: String

    init(_ sentence: String) { self.description = sentence }
}
