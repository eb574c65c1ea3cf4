internal import Glibc
internal import TidegateDaemon

/// Looks at destinations and bodies before anything is sent, so that nothing half-written is left.
enum DestinationCheck {
    /// What stands at a path already, as far as it decides how a body gets there.
    enum Kind {
        /// A regular file, or nothing yet: a new one takes the place.
        case file
        /// The null device: bodies are read and nothing is kept.
        case null
        /// A terminal, another character device or a pipe, which is written into as it is.
        case stream
        /// The standard output by its name, whatever it is.
        case output
    }

    static func kind(of path: String) -> Kind {
        // Where it is a regular file, a rename would replace the name in /dev.
        if path == "/dev/stdout" { return .output }
        var status = stat()
        guard stat(path, &status) == 0 else { return .file }
        switch status.st_mode & S_IFMT {
        case S_IFIFO: return .stream
        // Linux: character device 1:3 (null(4)).
        case S_IFCHR: return status.st_rdev == 0x103 ? .null : .stream
        default: return .file
        }
    }

    /// Opens a device or pipe to write into; waits for a pipe's reader.
    static func open(stream path: String) throws(Ending) -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Ending(.no, "\(path) cannot be written: \(TextFile.words(of: errno))") }
        return descriptor
    }

    /// Why a file cannot be written at `path`, naming what is in the way; nil where it can.
    static func problem(writing path: String) -> String? {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            return status.st_mode & S_IFMT == S_IFDIR ? "\(path) is a directory" : "\(path) is not a regular file"
        }
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
        guard status.st_mode & S_IFMT != S_IFREG else { return nil }
        return status.st_mode & S_IFMT == S_IFDIR ? "\(path) is a directory" : "\(path) is not a regular file"
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
