internal import Glibc

/// Looks whether a state directory and the files in it are its user's own.
///
/// Whoever could put a file there, or change one, could have the daemon write where he wants and send what he wants.
struct StateDirectoryValidator {
    /// What stands there while a journal is open, or after a crash.
    static let files = ["lock", "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-journal"]

    let directory: String
    /// Whose it has to be; root's things are everybody's.
    let user: UInt32

    init(_ directory: String, user: UInt32 = geteuid()) {
        self.directory = directory
        self.user = user
    }

    /// Changes nothing.
    ///
    /// - Throws: ``JournalProblem/unsafe(_:_:)`` naming the first thing that is not as it has to be.
    func look() throws(JournalProblem) {
        // The directory's own name may be a link: systemd makes one (DynamicUser=).
        if let link = try self.status(of: self.directory, lstat) {
            try self.checkOwner(link, self.directory)
        }
        guard let place = try self.status(of: self.directory, stat) else { return }
        guard place.st_mode & S_IFMT == S_IFDIR else {
            throw .unusable(self.directory, StateDirectoryValidator.words(ENOTDIR))
        }
        try self.checkOwner(place, self.directory)
        try self.checkMode(place, S_IWOTH, self.directory)
        for name in StateDirectoryValidator.files { try self.checkFile("\(self.directory)/\(name)") }
    }

    private func checkFile(_ path: String) throws(JournalProblem) {
        guard let status = try self.status(of: path, lstat) else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFLNK: throw .unsafe(path, "it is a symbolic link")
        default: throw .unsafe(path, "it is no regular file")
        }
        try self.checkOwner(status, path)
        // Header fields and bodies may be secret.
        try self.checkMode(status, S_IWOTH | S_IROTH, path)
    }

    private func checkOwner(_ status: stat, _ path: String) throws(JournalProblem) {
        guard status.st_uid != self.user, status.st_uid != 0 else { return }
        throw .unsafe(path, "it belongs to the user \(status.st_uid) and not to \(self.user)")
    }

    private func checkMode(_ status: stat, _ refused: mode_t, _ path: String) throws(JournalProblem) {
        guard status.st_mode & refused != 0 else { return }
        let right = status.st_mode & S_IWOTH & refused != 0 ? "write" : "read"
        let mode = String(status.st_mode & 0o7777, radix: 8)
        throw .unsafe(path, "everybody may \(right) it (mode 0\(mode))")
    }

    private func status(
        of path: String, _ ask: (UnsafePointer<CChar>, UnsafeMutablePointer<stat>) -> Int32
    ) throws(JournalProblem) -> stat? {
        var status = Glibc.stat()
        if ask(path, &status) == 0 { return status }
        guard errno == ENOENT else { throw .unusable(path, StateDirectoryValidator.words(errno)) }
        return nil
    }

    /// What the system says to an error's number.
    static func words(_ code: Int32) -> String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }
}
