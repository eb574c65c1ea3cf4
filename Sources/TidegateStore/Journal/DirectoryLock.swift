internal import Glibc

/// Reserves a directory for one process (flock(2)), until it is released or the process ends.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

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
        let text = Array("\(getpid())\n".utf8)
        // Only for the message that a second process prints.
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.count, 0) == text.count else { return }
    }

    deinit { close(self.descriptor) }

    /// Lets another process lock the directory.
    func release() { flock(self.descriptor, LOCK_UN) }

    private static func create(_ directory: String) throws(JournalOpenError) {
        let code = Directory.create(directory)
        guard code == 0 else { throw .unusable(directory, SystemError.message(code)) }
    }

    private static func process(_ descriptor: Int32) -> Int? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return Int(String(decoding: bytes.prefix(count).prefix { (48...57).contains($0) }, as: UTF8.self))
    }

    private func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }
}
