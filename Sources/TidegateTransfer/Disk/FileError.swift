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

    package init(operation: String, path: String, code: Int32) {
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

    /// What an error number means.
    static func reason(_ code: Int32) -> String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }
}
