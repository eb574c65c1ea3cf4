internal import Glibc
package import TidegateCore

/// Reads small text files.
package enum TextFile {
    /// The text of a file of at most `limit` bytes; the error does not name the file.
    ///
    /// A pipe is rejected, because it may have no writer.
    package static func read(_ path: String, atMost limit: Int) throws(TextError) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw TextError("cannot be read: \(SystemError.message(errno))") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw TextError("cannot be read: \(SystemError.message(errno))") }
        guard [S_IFREG, S_IFDIR, S_IFCHR].contains(status.st_mode & S_IFMT) else {
            throw TextError("is a pipe; a regular file is needed")
        }
        return try self.read(descriptor, atMost: limit)
    }

    /// The secret in a file of its own: the text without the line ends behind it; the error does not name the file.
    static func secret(in path: String) throws(TextError) -> String {
        let text = try self.read(path, atMost: 1 << 16)
        guard let end = text.lastIndex(where: { !$0.isNewline }) else { throw TextError("is empty") }
        return String(text[...end])
    }

    /// The rest of the text from a descriptor, without a byte order mark.
    package static func read(_ descriptor: Int32, atMost limit: Int) throws(TextError) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw TextError("cannot be read: \(SystemError.message(errno))") }
            guard count > 0 else { break }
            bytes += buffer[..<count]
            guard bytes.count <= limit else { throw TextError("is larger than \(ByteText(Int64(limit)))") }
        }
        // Editors on Windows write a byte order mark (RFC 3629 6).
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw TextError("is not valid UTF-8") }
        return text
    }

    /// Writes all of `bytes`; returns the error number of a failure.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = rest.dropFirst(count)
        }
        return nil
    }
}

/// Files with passwords, keys or tokens.
package enum SecretFile {
    /// A warning about a file that every user may read; nil for other files, and for a missing one.
    package static func warning(about path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & S_IROTH != 0 else {
            return nil
        }
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return "\(path) has secrets, and every user may read it (mode 0\(mode)): chmod o-rwx \(path)"
    }
}
