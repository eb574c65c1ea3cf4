internal import Glibc
internal import TidegateDaemon

/// Looks at destinations and bodies before anything is sent, so that nothing half-written is left.
enum DestinationCheck {
    /// Why a file cannot be written at `path`, naming what is in the way; nil where it can.
    static func problem(writing path: String) -> String? {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return "\(path) is a directory" }
        let folder = self.folder(of: path)
        guard stat(folder, &status) == 0 else { return "\(folder): \(TextFile.words(of: errno))" }
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(folder) is not a directory" }
        guard access(folder, W_OK | X_OK) == 0 else {
            return "\(path) cannot be written: \(folder): \(TextFile.words(of: errno))"
        }
        return nil
    }

    /// Why a file cannot be read; nil where it can.
    static func problem(reading path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else { return "\(path): \(TextFile.words(of: errno))" }
        return status.st_mode & S_IFMT == S_IFDIR ? "\(path) is a directory" : nil
    }

    /// The bytes of a file; nil where there is none.
    static func size(of path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// The folder that a path's file stands in.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
