internal import TidegateTransfer

/// Why a file or the directory of a ``ValidatorStore`` cannot be used.
public struct ValidatorStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file or the directory.
    public let file: String
    /// What is wrong, in one clause that follows the file's name.
    public let problem: String

    init(file: String, problem: String) {
        self.file = file
        self.problem = problem
    }

    init(_ error: FileError, of file: String) {
        self.file = file
        let text = error.description
        let rest = text.dropFirst(file.count)
        // The error names the file itself, or one beside it; a call that failed is no clause.
        if text.hasPrefix("\(file): ") {
            self.problem = "cannot be used (\(rest.dropFirst(2)))"
        } else {
            self.problem = text.hasPrefix("\(file) ") ? String(rest.dropFirst()) : text
        }
    }

    /// One sentence without a final full stop.
    public var description: String { "\(self.file) \(self.problem)" }
}
