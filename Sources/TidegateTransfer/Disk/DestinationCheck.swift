internal import Glibc
package import TidegateCore

extension DownloadPaths {
    /// Checks before anything is written whether a download can end here: nil, or what is in the way in one clause.
    package func obstacle() -> String? {
        var status = stat()
        if self.destination.status(&status) == 0 {
            switch status.st_mode & S_IFMT {
            case S_IFREG: break
            case S_IFDIR: return "\(self.destination) is a directory"
            // A rename would put a file in the place of a device.
            default: return "\(self.destination) is not a regular file"
            }
        }
        let path = self.destination.path
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let directory = self.destination.sibling(
            slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".")
        guard path.utf8.last != UInt8(ascii: "/"), !path.isEmpty else { return "\"\(path)\" names no file" }
        guard directory.status(&status) == 0 else {
            return errno == ENOENT
                ? "the directory \(directory) does not exist"
                : "the directory \(directory): \(FileError.reason(errno))"
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(directory) is not a directory" }
        guard directory.isAccessible(W_OK | X_OK) else {
            return "the directory \(directory) cannot be written: \(FileError.reason(errno))"
        }
        return self.lengthProblem(in: directory.path)
    }

    /// Makes the directories above the destination that are missing.
    package func createDirectories() throws(FileError) {
        let path = self.destination.path
        for slash in path.utf8.indices.dropFirst() where path.utf8[slash] == UInt8(ascii: "/") {
            let directory = self.destination.sibling(String(path[..<slash]))
            guard directory.makeDirectory() == 0 || errno == EEXIST else {
                throw FileError(operation: "mkdir", path: directory.path, code: errno)
            }
        }
    }

    // The longest name of all is that of the record while it is written; too late to find out after the transfer.
    private func lengthProblem(in directory: String) -> String? {
        let limit = pathconf(directory, Int32(_PC_NAME_MAX))
        let needed = AtomicFile.fresh(self.record).path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.count
        let excess = needed - (limit > 0 ? limit : 255)
        return excess > 0 ? "the name of \(self.destination) is \(excess) bytes too long for a download" : nil
    }
}

extension FileIdentity {
    /// Looks at a file that is to be read.
    package static func of(_ file: FileLocation) throws(FileError) -> FileIdentity {
        var status = stat()
        let path = file.path
        guard file.status(&status) == 0 else { throw FileError(operation: "stat", path: path, code: errno) }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw FileError(operation: "is a directory", path: path, code: 0)
        }
        // What a device or a pipe gives has no length, and cannot be sent once more.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileError(operation: "is not a regular file", path: path, code: 0)
        }
        guard file.isAccessible(R_OK) else { throw FileError(operation: "open", path: path, code: errno) }
        return FileIdentity(status)
    }

    init(_ status: stat) {
        self.init(
            size: Int64(status.st_size), inode: UInt64(status.st_ino), modifiedSeconds: Int64(status.st_mtim.tv_sec),
            modifiedNanoseconds: Int64(status.st_mtim.tv_nsec))
    }
}
