internal import Glibc
internal import Tidegate
internal import TidegateDaemon

/// Destinations that are no regular files.
enum DestinationCheck {
    /// The kind of file at a path, as far as it decides how a body is written there.
    enum Kind {
        /// A regular file, or none yet: a new file replaces it.
        case file
        /// The null device: bodies are read and discarded.
        case null
        /// A terminal, another character device or a pipe, which is written to directly.
        case stream
        /// Standard output by its name, whatever it is.
        case output
    }

    static func kind(of path: String) -> Kind {
        // If it is a regular file, a rename would replace the name in /dev.
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

    /// Opens a device or pipe for writing; blocks until a pipe has a reader.
    static func open(stream path: String) throws(CommandError) -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandError(.no, "cannot write to \(path): \(TextFile.errorMessage(errno))")
        }
        return descriptor
    }

    /// The size of a file in bytes; nil if there is none.
    static func size(of path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }
}

/// Copies a body to a terminal, unless it is binary, which would garble it.
///
/// As curl(1) does: a body is binary if a NUL is among its first 2000 bytes.
enum TerminalBody {
    /// How the copying ended.
    enum End: Sendable, Hashable {
        /// All of it was written, or the transfer failed and says so itself.
        case written
        case binary
        case failed(OutputError)
    }

    static let message =
        "the body is binary and was not written to the terminal; save it with -o FILE, or use -o - to print it anyway"

    /// Copies until the body ends; a reader that goes away cancels the transfer.
    static func copy(_ body: BodyStream, write: ([UInt8]) -> OutputError?) async -> End {
        var check = BinaryCheck()
        do {
            for try await chunk in body {
                guard !check.isBinary(chunk) else { return .binary }
                if let error = write(chunk) { return .failed(error) }
            }
        } catch {
            return .written
        }
        return .written
    }
}

/// Looks for a NUL among the first 2000 bytes of a body.
struct BinaryCheck {
    private var checked = 0

    /// True if the next piece of the body shows that it is binary.
    mutating func isBinary(_ piece: [UInt8]) -> Bool {
        defer { self.checked += piece.count }
        return piece.prefix(max(0, 2000 - self.checked)).contains(0)
    }
}
