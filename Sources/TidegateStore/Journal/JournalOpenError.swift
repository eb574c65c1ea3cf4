/// Why a journal cannot be opened.
public enum JournalOpenError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Another process has the directory; its process id, nil if unknown.
    case inUse(String, process: Int?)
    /// The file is damaged; SQLite's message.
    case damaged(String, String)
    /// The file was written by a newer version.
    case newer(String)
    /// The file is a database of another program.
    case foreign(String)
    /// A user other than this process's own may change the directory or a file in it; what is wrong.
    case unsafe(String, String)
    /// The directory or the file cannot be used; the system's message.
    case unusable(String, String)

    /// One sentence without a final full stop.
    public var description: String {
        switch self {
        case .inUse(let directory, let process):
            "another daemon\(process.map { " (process \($0))" } ?? "") uses the state directory \(directory)"
        case .damaged(let file, let message):
            "the journal \(file) is damaged (\(message)): it was left as it is; move it away to start with an empty one"
        case .newer(let file):
            "the journal \(file) was written by a newer version of Tidegate: it was left as it is"
        case .foreign(let file): "\(file) is another program's database: it was left as it is; name another directory"
        case .unsafe(let path, let message): "the journal is not safe in \(path): \(message); nothing was changed"
        case .unusable(let path, let message): "the journal cannot be kept in \(path): \(message)"
        }
    }
}

extension JournalOpenError {
    init(_ error: DurableDatabase.OpenError, _ path: String) {
        self =
            switch error {
            case .damaged(let message): .damaged(path, message)
            case .newer: .newer(path)
            case .foreign: .foreign(path)
            case .unusable(let message): .unusable(path, message)
            }
    }
}
