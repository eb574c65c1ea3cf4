internal import Glibc

/// Directories for files of ours.
enum Directory {
    /// Creates a directory and those above it that are missing, for their owner only; returns 0 or an errno(3).
    static func create(_ path: String) -> Int32 {
        var partial = path.hasPrefix("/") ? "" : "."
        for component in path.split(separator: "/") {
            partial += "/\(component)"
            guard mkdir(partial, 0o700) == 0 || errno == EEXIST else { return errno }
        }
        return 0
    }
}
