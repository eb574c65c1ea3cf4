internal import Synchronization
internal import Tidegate

extension CommandError {
    /// The error of a file that an option names.
    init(_ error: TextError) { self.init(.no, error.description) }
}

/// The file of `fetch --har`, which gets its name once it is complete.
///
/// Entries are appended as transfers end, so that long lists take no memory.
final class ArchiveFile: Sendable {
    private let file: FileOutput
    private let showsSecrets: Bool
    private let hasEntries = Mutex(false)

    /// Creates the file.
    ///
    /// - Throws: An error that names the file, before anything is transferred.
    init(_ path: String, showingSecrets: Bool) throws(CommandError) {
        self.showsSecrets = showingSecrets
        // Bodies may contain secrets even if headers are redacted.
        self.file = try FileOutput.open(path, of: "--har", permissions: 0o600).mapError(CommandError.init).get()
        self.write(HTTPArchive.start(creator: ArchiveFile.creator))
    }

    private static let creator = (name: "tidegate", version: TidegateVersion.version)

    /// Appends what a transfer sent and received.
    func add(_ task: TransferTask) {
        let archive = task.archive(showingSecrets: self.showsSecrets, creator: Self.creator)
        for entry in archive.entryTexts {
            let isFirst = self.hasEntries.withLock { !exchange(&$0, with: true) }
            self.write((isFirst ? "\n" : ",\n") + entry)
        }
    }

    /// Completes the file; returns the error if that fails.
    func finish() -> CommandError? {
        self.write("\n\(HTTPArchive.end)\n")
        return self.file.finish().map(CommandError.init)
    }

    // A write error is reported at the end.
    private func write(_ text: String) { _ = self.file.write(Array(text.utf8)) }
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
