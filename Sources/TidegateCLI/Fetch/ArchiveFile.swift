internal import Glibc
internal import Synchronization
internal import Tidegate
internal import TidegateDaemon

/// The file of `fetch --har`: entries are appended as transfers end, so that long lists take no memory, and it gets its
/// name when it is whole.
final class ArchiveFile: Sendable {
    private struct State {
        var hasEntries = false
        /// Why something could not be written; nil while all was.
        var error: Int32?
    }

    private let path: String
    /// Where it is written before it has its name; nil for a device or pipe, which has it already.
    private let temporary: String?
    private let descriptor: Int32
    private let showsSecrets: Bool
    private let state = Mutex(State())

    /// Creates the file.
    ///
    /// - Throws: A failure that names the file, before anything was transferred.
    init(_ path: String, showingSecrets: Bool) throws(CommandError) {
        self.path = path
        self.showsSecrets = showingSecrets
        switch DestinationCheck.kind(of: path) {
        case .file: self.temporary = "\(path).part"
        case .null, .stream, .output: self.temporary = nil
        }
        // Bodies may hold secrets whatever is left out of heads.
        let mode = self.temporary == nil ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW
        self.descriptor = open(self.temporary ?? path, mode | O_CLOEXEC, 0o600)
        var status = stat()
        let isDirectory = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        guard self.descriptor >= 0, !isDirectory else {
            let reason = TextFile.errorMessage(isDirectory ? EISDIR : errno)
            if self.descriptor >= 0 { self.discard() }
            throw CommandError(.no, "--har: cannot write to \(path): \(reason)")
        }
        self.write(HTTPArchive.start(creator: ArchiveFile.creator))
    }

    private static let creator = (name: "tidegate", version: TidegateVersion.version)

    /// Appends what a transfer sent and received.
    func add(_ task: TransferTask) {
        let archive = task.archive(showingSecrets: self.showsSecrets, creator: Self.creator)
        for entry in archive.entryTexts {
            let separator = self.state.withLock { state in
                defer { state.hasEntries = true }
                return state.hasEntries ? ",\n" : "\n"
            }
            self.write(separator + entry)
        }
    }

    /// Completes the file; returns why that failed.
    func finish() -> CommandError? {
        self.write("\n\(HTTPArchive.end)\n")
        var code = self.state.withLock { $0.error }
        if let temporary = self.temporary {
            if code == nil, rename(temporary, self.path) != 0 { code = errno }
            if code != nil { unlink(temporary) }
        }
        close(self.descriptor)
        return code.map { CommandError(.no, "--har: cannot write to \(self.path): \(TextFile.errorMessage($0))") }
    }

    private func discard() {
        close(self.descriptor)
        if let temporary = self.temporary { unlink(temporary) }
    }

    private func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty, self.state.withLock({ $0.error }) == nil {
            let count = rest.withUnsafeBytes { Glibc.write(self.descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return self.state.withLock { $0.error = count < 0 ? errno : EIO } }
            rest = rest.dropFirst(count)
        }
    }
}
