internal import Glibc

/// A directory of small files of this user, which one owner at a time reads and writes.
///
/// Every call blocks. Writes are not forced to the disk, so a reader must be able to detect a file damaged by a crash.
package final class StoreDirectory: Sendable {
    /// A file in a listing.
    package struct File: Sendable {
        package let name: String
        package let size: Int64
        /// The modification time in nanoseconds since 1970.
        package let modified: Int64
    }

    package let path: String
    private let lock: Int32

    /// The file whose lock (flock(2)) shows that the directory has an owner.
    private static let lockName = "store.lock"

    /// Opens the directory and locks it; creates it (0700) if it does not exist.
    ///
    /// - Throws: ``FileError``: `is in use` if this or another process already owns it.
    package init(_ path: String) throws(FileError) {
        try FileError.check(mkdir(path, 0o700), "mkdir", path, allowing: EEXIST)
        try StoreDirectory.check(path)
        let file = "\(path)/\(StoreDirectory.lockName)"
        let descriptor = try FileError.check(
            open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600), "open", file)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EWOULDBLOCK else { throw FileError(operation: "flock", path: file, code: code) }
            throw FileError(operation: "is in use; give each process a directory of its own", path: path)
        }
        self.path = path
        self.lock = descriptor
    }

    deinit { close(self.lock) }

    // Files written by other users could be served as a server's answer.
    private static func check(_ path: String) throws(FileError) {
        var status = stat()
        try FileError.check(stat(path, &status), "stat", path)
        guard status.st_mode & S_IFMT == S_IFDIR else { throw FileError(operation: "is not a directory", path: path) }
        guard status.st_uid == geteuid() else {
            throw FileError(operation: "belongs to another user (uid \(status.st_uid))", path: path)
        }
        guard status.st_mode & 0o022 == 0 else {
            throw FileError(operation: "can be written by others; chmod go-w it", path: path)
        }
    }

    /// The regular files, without links, regardless of their creator.
    package func files() throws(FileError) -> [File] {
        guard let directory = opendir(self.path) else {
            throw FileError(operation: "opendir", path: self.path, code: errno)
        }
        defer { closedir(directory) }
        var files: [File] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var status = stat()
            guard name != StoreDirectory.lockName, fstatat(dirfd(directory), name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            let modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
            files.append(File(name: name, size: Int64(status.st_size), modified: modified))
        }
        return files
    }

    /// Reads a file; nil if it does not exist.
    ///
    /// - Throws: ``FileError``, also for a file of more than `limit` bytes.
    package func read(_ name: String, atMost limit: Int) throws(FileError) -> [UInt8]? {
        let path = self.file(name)
        guard let descriptor = try FileLocation(path).openOwn(O_RDONLY) else { return nil }
        defer { close(descriptor) }
        var status = stat()
        try FileError.check(fstat(descriptor, &status), "fstat", path)
        guard status.st_size <= limit else {
            throw FileError(operation: "has \(status.st_size) bytes; \(limit) were expected", path: path)
        }
        return try FileError.reading(Int(status.st_size), of: path, "read") { rest, _ in
            Glibc.read(descriptor, rest.baseAddress, rest.count)
        }
    }

    /// Writes a file (0600) that appears only when it is complete.
    package func replace(_ name: String, with bytes: [UInt8]) throws(FileError) {
        try FileLocation(self.file(name)).replace(with: bytes, isDurable: false)
    }

    /// Removes a file; does nothing if it does not exist.
    package func remove(_ name: String) throws(FileError) {
        try FileError.check(unlink(self.file(name)), "unlink", self.file(name), allowing: ENOENT)
    }

    /// Whether a file with this name exists.
    package func contains(_ name: String) -> Bool { access(self.file(name), F_OK) == 0 }

    package func file(_ name: String) -> String { "\(self.path)/\(name)" }
}
