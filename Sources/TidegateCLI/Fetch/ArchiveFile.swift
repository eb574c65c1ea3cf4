internal import Synchronization
internal import Tidegate

/// The file of `fetch --har`: entries are appended as transfers end, so that long lists take no memory, and it gets its
/// name when it is whole.
final class ArchiveFile: Sendable {
    private let file: OutputFile
    private let showsSecrets: Bool
    private let hasEntries = Mutex(false)

    /// Creates the file.
    ///
    /// - Throws: A failure that names the file, before anything was transferred.
    init(_ path: String, showingSecrets: Bool) throws(CommandError) {
        self.showsSecrets = showingSecrets
        // Bodies may hold secrets whatever is left out of heads.
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

    /// Completes the file; returns why that failed.
    func finish() -> CommandError? {
        self.write("\n\(HTTPArchive.end)\n")
        return self.file.finish()
    }

    // What cannot be written is reported at the end.
    private func write(_ text: String) { _ = self.file.write(Array(text.utf8)) }
}
