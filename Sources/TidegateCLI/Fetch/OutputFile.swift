internal import Glibc
internal import Synchronization
internal import Tidegate
internal import TidegateDaemon

/// A file that gets its name once it is complete; a device or pipe is written directly.
final class OutputFile: Sendable {
    private let path: String
    /// The option that names the file.
    private let option: String
    /// The path used until the file is complete; nil for a device or pipe.
    private let temporary: String?
    private let descriptor: Int32
    /// The error number of the first failed write; nil if all succeeded.
    private let failure = Mutex<Int32?>(nil)

    /// Creates the file.
    ///
    /// - Throws: An error that names the file and the option.
    init(_ path: String, of option: String, mode: mode_t) throws(CommandError) {
        (self.path, self.option) = (path, option)
        self.temporary = DestinationCheck.output(at: path) == .file(path) ? "\(path).part" : nil
        let flags = self.temporary == nil ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW
        self.descriptor = open(self.temporary ?? path, flags | O_CLOEXEC, mode)
        var (status, code) = (stat(), errno)
        let isDirectory = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        guard self.descriptor >= 0, !isDirectory else {
            if isDirectory { code = EISDIR }
            if self.descriptor >= 0 { self.discard() }
            throw self.error(code)
        }
    }

    /// Appends bytes; returns the error of this write or an earlier one.
    func write(_ bytes: [UInt8]) -> CommandError? {
        if self.failure.withLock({ $0 }) == nil, let code = TextFile.write(bytes, to: self.descriptor) {
            self.failure.withLock { $0 = code }
        }
        return self.failure.withLock { $0 }.map(self.error)
    }

    /// Gives the file its name; returns the error of that or of an earlier write.
    func finish() -> CommandError? {
        var code = self.failure.withLock { $0 }
        if code == nil, let temporary = self.temporary, rename(temporary, self.path) != 0 { code = errno }
        guard let code else {
            close(self.descriptor)
            return nil
        }
        self.discard()
        return self.error(code)
    }

    /// Removes what was written.
    func discard() {
        close(self.descriptor)
        if let temporary = self.temporary { unlink(temporary) }
    }

    private func error(_ code: Int32) -> CommandError {
        CommandError(.no, "\(self.option): cannot write to \(self.path): \(TextFile.errorMessage(code))")
    }
}

/// The file of `fetch --har`, which gets its name once it is complete.
///
/// Entries are appended as transfers end, so that long lists take no memory.
final class ArchiveFile: Sendable {
    private let file: OutputFile
    private let showsSecrets: Bool
    private let hasEntries = Mutex(false)

    /// Creates the file.
    ///
    /// - Throws: An error that names the file, before anything is transferred.
    init(_ path: String, showingSecrets: Bool) throws(CommandError) {
        self.showsSecrets = showingSecrets
        // Bodies may contain secrets even if headers are redacted.
        self.file = try OutputFile(path, of: "--har", mode: 0o600)
        self.write(HTTPArchive.start(creator: ArchiveFile.creator))
    }

    private static let creator = (name: "tidegate", version: TidegateVersion.version)

    /// Appends what a transfer sent and received.
    func add(_ task: TransferTask) {
        let archive = task.archive(showingSecrets: self.showsSecrets, creator: Self.creator)
        for entry in archive.entryTexts {
            let separator = self.hasEntries.withLock { hasEntries in
                defer { hasEntries = true }
                return hasEntries ? ",\n" : "\n"
            }
            self.write(separator + entry)
        }
    }

    /// Completes the file; returns the error if that fails.
    func finish() -> CommandError? {
        self.write("\n\(HTTPArchive.end)\n")
        return self.file.finish()
    }

    // A write error is reported at the end.
    private func write(_ text: String) { _ = self.file.write(Array(text.utf8)) }
}

/// Finds out how to write to a destination, and opens devices and pipes.
enum DestinationCheck {
    /// How to write a body to a path: a regular or missing file is replaced by a new one.
    static func output(at path: String) -> FetchPlan.Output {
        // If standard output is a regular file, a rename would replace the name in /dev.
        if path == "/dev/stdout" { return .standardOutput(isNamed: true) }
        var status = stat()
        guard stat(path, &status) == 0 else { return .file(path) }
        switch status.st_mode & S_IFMT {
        case S_IFIFO: return .stream(path)
        // Linux: character device 1:3 (null(4)). Bodies are read and discarded.
        case S_IFCHR: return status.st_rdev == 0x103 ? .discard : .stream(path)
        default: return .file(path)
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
}

/// Copies a body to a terminal, except a binary one, which would garble the terminal.
///
/// Uses the rule of curl(1): a body is binary if a NUL is among its first 2000 bytes.
enum TerminalBody {
    /// The result of copying.
    enum End: Sendable, Hashable {
        /// The whole body was written, or the transfer failed and reports that itself.
        case written
        case binary
        case failed(OutputError)
    }

    static let message =
        "the body is binary and was not written to the terminal; save it with -o FILE, or use -o - to print it anyway"

    /// Copies until the body ends; if the reader closes its end, the transfer is cancelled.
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
