internal import Glibc
internal import TidegateCore

/// Locks a directory for one process (flock(2)), until it is released or the process ends.
final class DirectoryLock: Sendable {
    private let descriptor: Int32
    /// True if a journal has been opened in this directory before.
    let hadJournal: Bool

    // The line after the process id, once there is a journal.
    private static let mark = "journal\n"

    /// What the journal's last commit in this directory made durable; nil if that is unknown.
    let written: JournalProgress?

    /// Creates the directory if it is missing, for its owner only, validates it, and locks it.
    init(_ directory: String) throws(JournalOpenError) {
        if let message = Directory.create(directory) { throw .unusable(directory, message) }
        try StateDirectoryValidator(directory: directory).validate()
        let path = "\(directory)/lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .unusable(directory, SystemError.message(errno)) }
        self.descriptor = descriptor
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            throw code == EWOULDBLOCK
                ? .inUse(directory, process: Int(DirectoryLock.text(descriptor).prefix { $0.isASCII && $0.isNumber }))
                : .unusable(directory, SystemError.message(code))
        }
        let text = DirectoryLock.text(descriptor)
        self.hadJournal = text.hasSuffix(DirectoryLock.mark)
        self.written = text.split(separator: "\n").dropFirst().first.flatMap { JournalProgress("\($0)") }
        // The process id is only for the message that a second process prints.
        let lines = ["\(getpid())\n", self.written.map { "\($0)" } ?? "", self.hadJournal ? DirectoryLock.mark : ""]
        self.write(lines.joined())
    }

    /// Remembers that there is a journal now, and what its last commit made durable.
    ///
    /// Not synchronised with the disk: after a power cut an older progress may be here, never a newer one than the
    /// journal has.
    func markJournal(_ progress: JournalProgress) { self.write("\(getpid())\n\(progress)\(DirectoryLock.mark)") }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        // Cut off only afterwards: on a full disk what was there stays.
        if pwrite(self.descriptor, bytes, bytes.count, 0) == bytes.count {
            _ = ftruncate(self.descriptor, bytes.count)
        }
    }

    deinit { close(self.descriptor) }

    /// Lets another process lock the directory.
    func release() { flock(self.descriptor, LOCK_UN) }

    private static func text(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

/// How much a journal has made durable since it was created.
struct JournalProgress: Sendable, Hashable, CustomStringConvertible {
    /// Its transactions with entries.
    var commits: Int
    /// The tasks that they accepted.
    var tasks: Int

    /// A line as long as any other, so that one replaces another with one write(2).
    var description: String {
        [self.commits, self.tasks].map { "\($0)".padded(to: 19) }.joined(separator: " ") + "\n"
    }
}

extension JournalProgress {
    /// Nil if the text is not a line of ``description``, as after a crash while it was written.
    init?(_ text: String) {
        let parts = text.split(separator: " ").compactMap { $0.utf8.count == 19 ? Int($0) : nil }
        guard parts.count == 2 else { return nil }
        self.init(commits: parts[0], tasks: parts[1])
    }
}

/// Checks that a state directory and the files in it belong to their user, and that no other user may change them.
///
/// A user who could add or change a file there could make the daemon write any file and send any request.
struct StateDirectoryValidator {
    /// The files that exist while a journal is open, or after a crash.
    static let files = ["lock", "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-journal"]

    let directory: String
    /// The owner that the files must have; root is also accepted.
    var user = geteuid()

    /// Validates the directory without changing anything.
    ///
    /// - Throws: ``JournalOpenError/unsafe(_:_:)`` with the first file that fails.
    func validate() throws(JournalOpenError) {
        // The directory's own name may be a link, such as one made by systemd (DynamicUser=).
        if let link = try self.status(of: self.directory, lstat) { try self.checkOwner(link, self.directory) }
        guard let status = try self.status(of: self.directory, stat) else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .unusable(self.directory, SystemError.message(ENOTDIR)) }
        try self.checkOwner(status, self.directory)
        try self.checkMode(status, S_IWOTH | S_IWGRP, self.directory)
        try self.checkParents()
        for name in StateDirectoryValidator.files { try self.checkFile("\(self.directory)/\(name)") }
    }

    // A user who may rename a parent directory may replace it with another.
    private func checkParents() throws(JournalOpenError) {
        guard let resolved = realpath(self.directory, nil) else {
            throw .unusable(self.directory, SystemError.message(errno))
        }
        defer { free(resolved) }
        var path = String(cString: resolved)
        while let slash = path.lastIndex(of: "/"), path != "/" {
            path = slash == path.startIndex ? "/" : String(path[..<slash])
            guard let status = try self.status(of: path, stat) else { continue }
            if status.st_uid != StateDirectoryValidator.unmappedUser { try self.checkOwner(status, path) }
            // In a directory with this bit, such as /tmp, only owners may rename their files.
            if status.st_mode & S_ISVTX == 0 { try self.checkMode(status, S_IWOTH, path) }
        }
    }

    // Directories of users outside this process's user namespace appear with this owner (user_namespaces(7)).
    private static let unmappedUser: UInt32 = 65_534

    private func checkFile(_ path: String) throws(JournalOpenError) {
        guard let status = try self.status(of: path, lstat) else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFLNK: throw .unsafe(path, "it is a symbolic link")
        default: throw .unsafe(path, "it is not a regular file")
        }
        try self.checkOwner(status, path)
        // Header fields and bodies may be secret.
        try self.checkMode(status, S_IWOTH | S_IROTH | S_IWGRP, path)
    }

    private func checkOwner(_ status: stat, _ path: String) throws(JournalOpenError) {
        guard status.st_uid != self.user, status.st_uid != 0 else { return }
        throw .unsafe(path, "it belongs to user \(status.st_uid), not to user \(self.user)")
    }

    private func checkMode(_ status: stat, _ refused: mode_t, _ path: String) throws(JournalOpenError) {
        guard status.st_mode & refused != 0 else { return }
        let isForAll = status.st_mode & refused & (S_IWOTH | S_IROTH) != 0
        let access = status.st_mode & refused & (S_IWOTH | S_IWGRP) != 0 ? "writable" : "readable"
        let mode = String(status.st_mode & 0o7777, radix: 8)
        throw .unsafe(path, "it is \(access) by \(isForAll ? "all users" : "its group") (mode 0\(mode))")
    }

    private func status(
        of path: String, _ call: (UnsafePointer<CChar>, UnsafeMutablePointer<stat>) -> Int32
    ) throws(JournalOpenError) -> stat? {
        var status = Glibc.stat()
        if call(path, &status) == 0 { return status }
        guard errno == ENOENT else { throw .unusable(path, SystemError.message(errno)) }
        return nil
    }
}
