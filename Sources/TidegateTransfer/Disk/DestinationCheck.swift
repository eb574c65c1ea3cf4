internal import Glibc
package import TidegateCore

extension DownloadPaths {
    /// Checks before anything is written whether a download can end here: nil, or what is in the way in one clause.
    package func obstacle() -> String? {
        var status = stat()
        if stat(self.destination, &status) == 0 {
            switch status.st_mode & S_IFMT {
            case S_IFREG: break
            case S_IFDIR: return "\(self.destination) is a directory"
            // A rename would put a file in the place of a device.
            default: return "\(self.destination) is not a regular file"
            }
        }
        let slash = self.destination.lastIndex(of: "/")
        let directory = slash.map { $0 == self.destination.startIndex ? "/" : String(self.destination[..<$0]) } ?? "."
        guard self.destination.last != "/", !self.destination.isEmpty else {
            return "\"\(self.destination)\" names no file"
        }
        guard stat(directory, &status) == 0 else {
            return errno == ENOENT
                ? "the directory \(directory) does not exist" : "the directory \(directory): \(self.reason(errno))"
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(directory) is not a directory" }
        guard access(directory, W_OK | X_OK) == 0 else {
            return "the directory \(directory) cannot be written: \(self.reason(errno))"
        }
        return self.lengthProblem(in: directory)
    }

    /// Makes the directories above the destination that are missing.
    package func createDirectories() throws(FileError) {
        for slash in self.destination.indices.dropFirst() where self.destination[slash] == "/" {
            let directory = String(self.destination[..<slash])
            guard mkdir(directory, 0o777) == 0 || errno == EEXIST else {
                throw FileError(operation: "mkdir", path: directory, code: errno)
            }
        }
    }

    // The longest name of all is that of the record while it is written; too late to find out after the transfer.
    private func lengthProblem(in directory: String) -> String? {
        let limit = pathconf(directory, Int32(_PC_NAME_MAX))
        let needed = AtomicFile.fresh(self.record).utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.count
        let excess = needed - (limit > 0 ? limit : 255)
        return excess > 0 ? "the name of \(self.destination) is \(excess) bytes too long for a download" : nil
    }

    private func reason(_ code: Int32) -> String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }
}

extension FileIdentity {
    /// Looks at a file that is to be read.
    package static func of(_ path: String) throws(FileError) -> FileIdentity {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileError(operation: "stat", path: path, code: errno) }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw FileError(operation: "is a directory", path: path, code: 0)
        }
        // What a device or a pipe gives has no length, and cannot be sent once more.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileError(operation: "is not a regular file", path: path, code: 0)
        }
        guard access(path, R_OK) == 0 else { throw FileError(operation: "open", path: path, code: errno) }
        return FileIdentity(
            size: Int64(status.st_size), inode: UInt64(status.st_ino), modifiedSeconds: Int64(status.st_mtim.tv_sec),
            modifiedNanoseconds: Int64(status.st_mtim.tv_nsec))
    }
}
