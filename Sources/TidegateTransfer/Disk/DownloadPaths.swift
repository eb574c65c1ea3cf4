internal import FoundationEssentials
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// The files of a download: NAME, and beside it `.NAME.tidegate` and `.NAME.tidegate.json`.
package struct DownloadPaths: Sendable, Hashable {
    /// The final file.
    package let destination: FileLocation
    /// The temporary file, which receives the bytes.
    package let temporary: FileLocation
    /// The continuation record, for continuing after a crash.
    package let record: FileLocation
    let directory: FileLocation

    /// The paths for a destination, which must be below one of `directories`; nil allows any.
    package init(destination path: String, below directories: [String]? = nil) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let prefix = slash.map { path[...$0] } ?? ""
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        self.destination = FileLocation(path, below: directories)
        self.temporary = self.destination.sibling("\(prefix).\(name).tidegate")
        self.record = self.destination.sibling("\(prefix).\(name).tidegate.json")
        self.directory = self.destination.sibling(prefix.isEmpty ? "." : String(prefix))
    }

    /// The absolute path of the destination; unchanged if the working directory is unknown.
    package var absoluteDestination: String {
        let path = self.destination.path
        guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
        defer { free(directory) }
        return "\(String(cString: directory))/\(path)"
    }

    // A rename is durable only when its directory is synchronized.
    func synchronizeDirectory() throws(FileError) {
        let descriptor = try FileError.check(self.directory.open(O_RDONLY | O_DIRECTORY), "open", self.directory.path)
        let code = fsync(descriptor) == 0 ? 0 : errno
        close(descriptor)
        // Some file systems do not support fsync for directories.
        guard code == 0 || code == EINVAL else {
            throw FileError(operation: "fsync", path: self.directory.path, code: code)
        }
    }

    /// Checks before writing whether the download can end here; returns the obstacle in one clause, or nil.
    package func obstacle() -> String? {
        var status = stat()
        if self.destination.status(&status) == 0 {
            switch status.st_mode & S_IFMT {
            case S_IFREG: break
            case S_IFDIR: return "\(self.destination) is a directory"
            // A rename would replace a device by a file.
            default: return "\(self.destination) is not a regular file"
            }
        }
        let path = self.destination.path
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let directory = self.destination.sibling(slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".")
        guard path.utf8.last != UInt8(ascii: "/"), !path.isEmpty else { return "\"\(path)\" names no file" }
        guard directory.status(&status) == 0 else {
            return errno == ENOENT
                ? "the directory \(directory) does not exist"
                : "the directory \(directory): \(LoopError.text(of: errno))"
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(directory) is not a directory" }
        guard directory.isAccessible(W_OK | X_OK) else {
            return "the directory \(directory) cannot be written: \(LoopError.text(of: errno))"
        }
        return self.lengthProblem(in: directory.path)
    }

    /// Creates the missing directories above the destination.
    package func createDirectories() throws(FileError) {
        let path = self.destination.path
        for slash in path.utf8.indices.dropFirst() where path.utf8[slash] == UInt8(ascii: "/") {
            let directory = self.destination.sibling(String(path[..<slash]))
            try FileError.check(directory.makeDirectory(), "mkdir", directory.path, allowing: EEXIST)
        }
    }

    // The longest name is that of the record while it is written; a problem with it must show before the transfer.
    private func lengthProblem(in directory: String) -> String? {
        let limit = pathconf(directory, Int32(_PC_NAME_MAX))
        let needed = self.record.fresh.path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.count
        let excess = needed - (limit > 0 ? limit : 255)
        return excess > 0 ? "the name of \(self.destination) is \(excess) bytes too long for a download" : nil
    }

    // The continuation record beside a destination, `.NAME.tidegate.json`: it lets another process continue the
    // download.

    /// Reads the record; nil if it is absent or damaged.
    package func readRecord() throws(FileError) -> ResumeData? {
        guard let bytes = try self.record.read() else { return nil }
        return try? JSONDecoder().decode(ResumeData.self, from: Data(bytes))
    }

    /// Writes the record atomically: a reader finds the old one or the new one.
    ///
    /// Blocks: for the disk thread.
    package func writeRecord(url: String, _ point: ResumePoint) throws(FileError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = ResumeData(url: url, file: self.destination.path, point: point)
        // Encoding strings and numbers always succeeds; an empty record would only mean a start from 0.
        let bytes = (try? encoder.encode(data)).map { [UInt8]($0) } ?? []
        try self.record.replace(with: bytes)
    }

    /// Removes the record, if there is one.
    package func removeRecord() throws(FileError) {
        try FileError.check(self.record.unlink(), "unlink", self.record.path, allowing: ENOENT)
    }
}

extension FileIdentity {
    /// The identity of a file to read.
    package static func of(_ file: FileLocation) throws(FileError) -> FileIdentity {
        var status = stat()
        let path = file.path
        try FileError.check(file.status(&status), "stat", path)
        guard status.st_mode & S_IFMT != S_IFDIR else { throw FileError(operation: "is a directory", path: path) }
        // Data from a device or a pipe has no length and cannot be sent again.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileError(operation: "is not a regular file", path: path)
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
