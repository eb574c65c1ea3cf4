internal import Glibc

/// Keeps a directory for one process (flock(2)), as long as it lives.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// Makes the directory where it is missing, for its owner only, looks whether it is, and locks it.
    init(_ directory: String) throws(JournalProblem) {
        try DirectoryLock.make(directory)
        try StateDirectoryValidator(directory).look()
        let path = "\(directory)/lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .unusable(directory, StateDirectoryValidator.words(errno)) }
        self.descriptor = descriptor
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            throw code == EWOULDBLOCK
                ? .inUse(directory, process: DirectoryLock.process(descriptor))
                : .unusable(directory, StateDirectoryValidator.words(code))
        }
        let text = Array("\(getpid())\n".utf8)
        // Only for the sentence that the second one is told.
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.count, 0) == text.count else { return }
    }

    deinit { close(self.descriptor) }

    /// Lets others in.
    func release() { flock(self.descriptor, LOCK_UN) }

    private static func make(_ directory: String) throws(JournalProblem) {
        var path = directory.hasPrefix("/") ? "" : "."
        for part in directory.split(separator: "/") {
            path += "/\(part)"
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw .unusable(directory, StateDirectoryValidator.words(errno))
            }
        }
    }

    private static func process(_ descriptor: Int32) -> Int? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return Int(String(decoding: bytes.prefix(count).prefix { (48...57).contains($0) }, as: UTF8.self))
    }

    private func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }
}
