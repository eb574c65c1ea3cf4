internal import Glibc

/// A system call of the loop's failed.
package struct LoopError: Error, Sendable, CustomStringConvertible {
    /// The call, as its man page names it.
    package let operation: String
    /// The error number (errno(3)).
    package let code: Int32

    package init(operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    package var description: String {
        guard let text = strerror(self.code) else { return "\(self.operation): error \(self.code)" }
        return "\(self.operation): \(String(cString: text))"
    }
}
