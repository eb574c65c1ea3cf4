internal import FoundationEssentials
internal import Glibc
package import TidegateCore

/// The files of a download: NAME, and beside it `.NAME.tidegate` and `.NAME.tidegate.json`.
///
/// In both, a long NAME is shortened to its start and a digest.
package struct DownloadPaths: Sendable, Hashable {
    /// The final file.
    package let destination: FileLocation
    /// The temporary file, which receives the bytes.
    package let temporary: FileLocation
    /// The continuation record, for continuing after a crash.
    package let record: FileLocation
    let directory: FileLocation
    /// How bytes reach the destination, as far as ``checked(onlyFiles:makingDirectories:)`` has decided.
    package let way: Way

    /// How bytes reach a destination.
    package enum Way: Sendable, Hashable {
        /// A new file beside the destination, a missing or a regular file, takes its place when it is complete.
        case replaced
        /// The destination itself is written: a regular file that cannot be replaced.
        case inPlace
        /// The destination, a device, a pipe or an open descriptor, is opened and written.
        case stream
    }

    /// The paths for a destination, which must be below one of `directories`; nil allows any.
    package init(destination path: String, below directories: [String]? = nil) {
        self.init(FileLocation(path, below: directories), .replaced)
    }

    init(_ destination: FileLocation, _ way: Way) {
        let prefix = destination.parts.prefix
        let name = DownloadPaths.shortened(destination.parts.name)
        self.way = way
        self.destination = destination
        self.temporary = way == .replaced ? destination.sibling("\(prefix).\(name).tidegate") : destination
        self.record = destination.sibling("\(prefix).\(name).tidegate.json")
        self.directory = destination.directory
    }

    // Names have up to 255 bytes, 143 on encrypted file systems; the record needs 19 more while it is written.
    private static func shortened(_ name: Substring) -> Substring {
        guard name.utf8.count > 124 else { return name }
        var start = name
        while start.utf8.count > 80 { start.unicodeScalars.removeLast() }
        return start + "~" + Array(MessageDigest.sha256(Array(name.utf8)).prefix(16)).hexadecimal
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

    /// Decides how the destination is written, before anything is requested; follows its links and opens nothing.
    ///
    /// `onlyFiles` accepts only a file that can be replaced.
    /// - Throws: ``FileError`` that says in one clause why the destination cannot be written.
    package func checked(onlyFiles: Bool = false, makingDirectories: Bool = false) throws(FileError) -> DownloadPaths {
        let file = try self.destination.followingLinks()
        if !onlyFiles, file.ownDescriptor != nil { return DownloadPaths(file, .stream) }
        var status = stat()
        let paths = DownloadPaths(file, .replaced)
        if file.status(&status, followingLinks: false) == 0 {
            switch status.st_mode & S_IFMT {
            case S_IFREG:
                guard !paths.mayReplace(status) else { return paths }
                if !onlyFiles, file.isAccessible(R_OK | W_OK) { return DownloadPaths(file, .inPlace) }
                if file.isMountPoint { throw FileError(operation: "is a mount point", path: file.path) }
            case S_IFDIR: throw FileError(operation: "is a directory", path: file.path)
            case S_IFSOCK: throw FileError(operation: "is a socket", path: file.path)
            default:
                if !onlyFiles, !file.isConfined { return DownloadPaths(file, .stream) }
                // A rename would replace a device by a file.
                throw FileError(operation: "is not a regular file", path: file.path)
            }
        }
        guard file.path.utf8.last != UInt8(ascii: "/"), !file.path.isEmpty else {
            throw FileError(operation: "names no file", path: "\"\(file.path)\"")
        }
        if makingDirectories { try paths.createDirectories() }
        try paths.checkDirectory()
        return paths
    }

    /// Whether a new file may take the place of the destination, a regular file with this status.
    private func mayReplace(_ status: stat) -> Bool {
        var above = stat()
        guard (try? self.checkDirectory()) != nil, self.directory.status(&above) == 0, !self.destination.isMountPoint
        else { return false }
        // In a sticky directory only the owners of file and directory may replace the file (rename(2)).
        return above.st_mode & S_ISVTX == 0 || [0, status.st_uid, above.st_uid].contains(geteuid())
    }

    // Whether files can be made in the directory, with names as long as the destination's and the record's.
    private func checkDirectory() throws(FileError) {
        let (directory, subject) = (self.directory, "the directory \(self.directory)")
        var status = stat()
        guard directory.status(&status) == 0 else {
            let problem = errno == ENOENT ? "does not exist" : "cannot be read: \(SystemError.message(errno))"
            throw FileError(operation: problem, path: subject)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw FileError(operation: "is not a directory", path: directory.path)
        }
        guard directory.isAccessible(W_OK | X_OK) else {
            throw FileError(operation: "cannot be written: \(SystemError.message(errno))", path: subject)
        }
        let limit = pathconf(FileLocation.bytes(directory.path), Int32(_PC_NAME_MAX))
        // The longest name may be that of the record while it is written.
        let excess = max(self.destination.nameLength, self.record.fresh.nameLength) - (limit > 0 ? limit : 255)
        guard excess <= 0 else {
            throw FileError(
                operation: "is \(excess) bytes too long for its file system", path: "the name of \(self.destination)")
        }
    }

    /// The status of the file that is replaced; nil if none is.
    var replaced: stat? {
        var status = stat()
        let isThere = self.destination.status(&status, followingLinks: false) == 0
        return isThere && status.st_mode & S_IFMT == S_IFREG ? status : nil
    }

    /// True beside the control file of aria2(1) or axel(1): they give an incomplete file its whole length.
    package var isPreallocated: Bool {
        [".aria2", ".st"].contains { (try? FileIdentity.of(FileLocation(self.destination.path + $0))) != nil }
    }

    /// Whether a file, a directory or a link has the destination's name.
    package var isTaken: Bool {
        var status = stat()
        return self.destination.status(&status, followingLinks: false) == 0
    }

    /// The permissions of the file that is replaced; nil if none is.
    package var permissions: UInt16? { self.replaced.map { UInt16($0.st_mode & 0o777) } }

    /// Creates the missing directories above the destination.
    package func createDirectories() throws(FileError) {
        let path = self.destination.path
        for slash in path.utf8.indices.dropFirst() where path.utf8[slash] == UInt8(ascii: "/") {
            let directory = self.destination.sibling(String(path[..<slash]))
            try FileError.check(directory.makeDirectory(), "mkdir", directory.path, allowing: EEXIST)
        }
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

    /// Copies the file at the destination, which another program left, into the temporary file, with a record that
    /// lets a download of `url` continue it.
    ///
    /// The record has no validator, so only the digest of the whole body allows that. The destination stays until the
    /// download replaces it. Nothing happens if the record is there already. Blocks while it copies.
    package func adoptDestination(for url: String) throws(FileError) {
        guard self.way == .replaced, self.replaced != nil, try self.readRecord()?.url != url else { return }
        let (source, copy) = (try DownloadFile.finished(self), try DownloadFile.open(self))
        var offset: Int64 = 0
        while case let bytes = try source.read(at: offset, upTo: 1 << 20), !bytes.isEmpty {
            try copy.append(bytes)
            offset += Int64(bytes.count)
        }
        try self.writeRecord(url: url, ResumePoint(offset: offset, validator: nil))
    }

    /// Removes the record, if there is one.
    package func removeRecord() throws(FileError) {
        guard self.way == .replaced else { return }
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
