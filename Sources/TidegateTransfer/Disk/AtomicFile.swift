internal import Glibc

/// Reads and replaces files that fit in one piece of memory.
enum AtomicFile {
    private static let limit = 64 * 1024

    /// The first 64 KiB of a file of this user's own; nil if there is no such file.
    static func read(_ file: FileLocation) throws(FileError) -> [UInt8]? {
        guard let descriptor = try OwnFile.open(file, O_RDONLY) else { return nil }
        defer { close(descriptor) }
        return try FileError.reading(self.limit, of: file.path, "read") { Glibc.read(descriptor, $0, self.limit) }
    }

    /// Where a new file is written before it takes the old one's place.
    static func fresh(_ file: FileLocation) -> FileLocation { file.sibling("\(file.path).new") }

    /// Writes a new file, for its owner only, and puts it in the old one's place; durably unless a later reader can tell
    /// a damaged one.
    static func replace(_ file: FileLocation, with bytes: [UInt8], isDurable: Bool = true) throws(FileError) {
        let fresh = self.fresh(file)
        // What a crash, or another program, left there is not written into.
        _ = fresh.unlink()
        let descriptor = fresh.open(O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw FileError(operation: "open", path: fresh.path, code: errno) }
        let count = write(descriptor, bytes, bytes.count)
        let code = count == bytes.count && (!isDurable || fdatasync(descriptor) == 0) ? 0 : errno
        close(descriptor)
        guard code == 0, count == bytes.count else {
            _ = fresh.unlink()
            throw FileError(operation: "write", path: fresh.path, code: code == 0 ? ENOSPC : code)
        }
        guard fresh.rename(to: file) == 0 else {
            throw FileError(operation: "rename", path: file.path, code: errno)
        }
    }
}
