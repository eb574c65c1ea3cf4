internal import Glibc

/// Checks that a state directory and the files in it belong to their user, and that no other user may change them.
///
/// A user who could put a file there, or change one, could make the daemon write any file and send any request.
struct StateDirectoryValidator {
    /// The files that exist while a journal is open, or after a crash.
    static let files = ["lock", "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-journal"]

    let directory: String
    /// The owner that the files must have; root's are accepted, too.
    let user: UInt32

    init(_ directory: String, user: UInt32 = geteuid()) {
        self.directory = directory
        self.user = user
    }

    /// Changes nothing.
    ///
    /// - Throws: ``JournalOpenError/unsafe(_:_:)`` naming the first file that fails.
    func validate() throws(JournalOpenError) {
        // The directory's own name may be a link: systemd makes one (DynamicUser=).
        if let link = try self.status(of: self.directory, lstat) {
            try self.checkOwner(link, self.directory)
        }
        guard let status = try self.status(of: self.directory, stat) else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .unusable(self.directory, SystemError.message(ENOTDIR))
        }
        try self.checkOwner(status, self.directory)
        try self.checkMode(status, S_IWOTH | S_IWGRP, self.directory)
        try self.checkParents()
        for name in StateDirectoryValidator.files { try self.checkFile("\(self.directory)/\(name)") }
    }

    // Who may rename a directory above may put another in its place.
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
            // In a directory with this bit, such as /tmp, only owners rename what is theirs.
            if status.st_mode & S_ISVTX == 0 { try self.checkMode(status, S_IWOTH, path) }
        }
    }

    // Directories of users outside of this process's user namespace belong to this one (user_namespaces(7)).
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
