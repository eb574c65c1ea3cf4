internal import Glibc

/// The daemon's state directory, which no task may read or write.
struct StateDirectoryPath: Sendable {
    let path: String

    /// True if a file is in the directory or would be created there, symbolic links resolved.
    func contains(_ file: String) -> Bool {
        guard let directory = StateDirectoryPath.resolve(self.path) else { return false }
        var existing = file
        // What does not exist is no link: its directory decides.
        while true {
            if let resolved = StateDirectoryPath.resolve(existing) {
                return resolved == directory || resolved.utf8.starts(with: "\(directory)/".utf8)
            }
            guard let slash = existing.utf8.lastIndex(of: UInt8(ascii: "/")), existing != "/" else { return false }
            existing = slash == existing.startIndex ? "/" : String(existing[..<slash])
        }
    }

    private static func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
