internal import Glibc

/// Reserves a directory for one process (flock(2)), until it is released or the process ends.
final class DirectoryLock: Sendable {
    private let descriptor: Int32
    /// True if a journal was opened in this directory before.
    let hadJournal: Bool

    // The line behind the process id, once there is a journal.
    private static let mark = "journal\n"

    /// Creates the directory if it is missing, for its owner only, validates it, and locks it.
    init(_ directory: String) throws(JournalOpenError) {
        try DirectoryLock.create(directory)
        try StateDirectoryValidator(directory).validate()
        let path = "\(directory)/lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .unusable(directory, SystemError.message(errno)) }
        self.descriptor = descriptor
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            throw code == EWOULDBLOCK
                ? .inUse(directory, process: DirectoryLock.process(descriptor))
                : .unusable(directory, SystemError.message(code))
        }
        self.hadJournal = DirectoryLock.text(descriptor).hasSuffix(DirectoryLock.mark)
        self.write("\(getpid())\n" + (self.hadJournal ? DirectoryLock.mark : ""))
    }

    /// Remembers that there is a journal now.
    func markJournal() {
        if !self.hadJournal { self.write("\(getpid())\n" + DirectoryLock.mark) }
    }

    // The process id is only for the message that a second process prints; without the mark an emptied journal is not
    // noticed.
    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        guard ftruncate(self.descriptor, 0) == 0, pwrite(self.descriptor, bytes, bytes.count, 0) == bytes.count else {
            return
        }
    }

    deinit { close(self.descriptor) }

    /// Lets another process lock the directory.
    func release() { flock(self.descriptor, LOCK_UN) }

    private static func create(_ directory: String) throws(JournalOpenError) {
        let code = Directory.create(directory)
        guard code == 0 else { throw .unusable(directory, SystemError.message(code)) }
    }

    private static func process(_ descriptor: Int32) -> Int? {
        Int(self.text(descriptor).prefix { $0.isASCII && $0.isNumber })
    }

    private static func text(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    private func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }
}
