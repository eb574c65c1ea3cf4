internal import Glibc
package import TidegateCore

/// A system call on a file failed.
package struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The call, as its man page names it.
    package let operation: String
    /// The file.
    package let path: String
    /// The error number (errno(3)); 0 if the operation says everything.
    package let code: Int32

    package init(operation: String, path: String, code: Int32 = 0) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// The reason as a task gives it: a full disk or quota can be waited for, other errors cannot.
    package var failure: TaskFailure { [ENOSPC, EDQUOT].contains(self.code) ? .diskFull : .fileError }

    /// Whether no descriptor was free, which can be waited for, too.
    package var isDescriptorShortage: Bool { DescriptorShortage.isReason(self.code) }

    package var description: String {
        guard self.code != 0 else { return "\(self.path) \(self.operation)" }
        return "\(self.path): \(self.operation): \(FileError.reason(self.code))"
    }

    /// What a system call returned; throws if that is negative, unless the reason is the one that is allowed.
    @discardableResult
    static func check(
        _ result: Int32, _ operation: String, _ path: String, allowing code: Int32 = 0
    ) throws(FileError) -> Int32 {
        guard result < 0, errno != code else { return result }
        throw FileError(operation: operation, path: path, code: errno)
    }

    /// The bytes that a call puts into a buffer of `count` bytes; it returns how many, or a negative number.
    static func reading(
        _ count: Int, of path: String, _ operation: String, _ call: (UnsafeMutableRawPointer?) -> Int
    ) throws(FileError) -> [UInt8] {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            result = call(buffer.baseAddress)
            initialized = max(0, result)
        }
        guard result >= 0 else { throw FileError(operation: operation, path: path, code: errno) }
        return bytes
    }

    /// What an error number means.
    static func reason(_ code: Int32) -> String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }
}

/// Whether this process, or the machine, has as many files open as it may (EMFILE and ENFILE, open(2)).
package enum DescriptorShortage {
    /// True if none can be opened now.
    ///
    /// Libraries report a shortage as a name that is unknown, or as a certificate that cannot be read: this tells.
    package static var isNow: Bool {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor < 0 else {
            close(descriptor)
            return false
        }
        return self.isReason(errno)
    }

    static func isReason(_ code: Int32) -> Bool { code == EMFILE || code == ENFILE }
}
