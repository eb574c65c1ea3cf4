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
        // The error names the file itself, or one beside it.
        self.problem = text.hasPrefix(file) ? String(text.dropFirst(file.count).drop { $0 == ":" || $0 == " " }) : text
    }

    /// One sentence without a final full stop.
    public var description: String { "\(self.file) \(self.problem)" }
}
