/// Why a journal cannot be opened.
package enum JournalProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// Another process has the directory; its number where that is known.
    case inUse(String, process: Int?)
    /// The file is damaged; what SQLite says.
    case damaged(String, String)
    /// The file was written by a newer version.
    case newer(String)
    /// The file is a database of another program's.
    case foreign(String)
    /// Others than its user could change the directory or a file in it, or have; what is wrong.
    case unsafe(String, String)
    /// The directory or the file cannot be used; what the system says.
    case unusable(String, String)

    /// One sentence without a final full stop.
    package var description: String {
        switch self {
        case .inUse(let directory, let process):
            "another daemon\(process.map { " (process \($0))" } ?? "") uses the state directory \(directory)"
        case .damaged(let file, let words):
            "the journal \(file) is damaged (\(words)): it was left as it is; move it away to start with an empty one"
        case .newer(let file):
            "the journal \(file) was written by a newer version of Tidegate: it was left as it is"
        case .foreign(let file): "\(file) is another program's database: it was left as it is; name another directory"
        case .unsafe(let path, let words): "the journal is not safe in \(path): \(words); nothing was changed"
        case .unusable(let path, let words): "the journal cannot be kept in \(path): \(words)"
        }
    }
}
