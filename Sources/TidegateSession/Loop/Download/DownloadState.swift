internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// The state of a task's bodies.
struct DownloadState {
    var partial = PartialBody()
    var file: DownloadFile?
    /// The paths of the download, if a link leads to them or if the file is written in place.
    @Rare var paths: DownloadPaths? = nil
    /// Whether the finished file has reached its destination; nil before the commit starts.
    var commit: FileCommit?
    /// True if a temporary file of this task may be on the disk.
    var hasTemporary = false
    /// The complete file that may be at the destination already; nil once the server has another body.
    @Rare var whole: FileIdentity? = nil
    /// The identity of the file to send when the task began.
    @Rare var uploadIdentity: FileIdentity? = nil
    /// True if the task's ability to begin and end on this host has been checked.
    var isPrepared = false
    /// The response's body, if it is kept in memory.
    var body: [UInt8] = []
    /// The response's relation to the validator store; nil if none exists.
    var revalidation: RevalidationState?
    /// The progress of the attempt that completed the body.
    var finalProgress: TransferProgress?
}

/// Whether a finished download has reached its destination; the disk's thread writes and reads it in order.
final class FileCommit: Sendable {
    private let done = Atomic<Bool>(false)
    private let abandoned = Atomic<Bool>(false)
    private let found = Mutex<ContentDigest?>(nil)

    var isDone: Bool { self.done.load(ordering: .acquiring) }

    func didCommit() { self.done.store(true, ordering: .releasing) }

    /// True if the file is no longer wanted: slow work may stop.
    var isAbandoned: Bool { self.abandoned.load(ordering: .relaxed) }

    func abandon() { self.abandoned.store(true, ordering: .relaxed) }

    /// The body's digest; nil if it was not requested or not finished.
    var digest: ContentDigest? {
        get { self.found.withLock { $0 } }
        set { self.found.withLock { $0 = newValue } }
    }
}

/// Reports of the disk's thread about a task's download.
enum DiskEvent: Sendable {
    /// A finished download is at its destination (true), lacks the expected digest (false), or could not be committed.
    case committed(Result<Bool, FileError>)
    /// The remainder of an unfinished download was kept or removed.
    case cleaned
    /// The stored body that a server has confirmed; nil if it is damaged or gone.
    case restored([UInt8]?)
    /// The response was stored for later requests, or could not be.
    case stored
    /// The thread is stopping and did not do the work.
    case refused
}

extension DownloadFile {
    /// The digest of the whole file, or nil if `isWanted` returns false.
    ///
    /// Blocks: for the disk thread.
    func digest(while isWanted: () -> Bool) throws(FileError) -> ContentDigest? {
        var hash = SHA256Digest()
        var offset: Int64 = 0
        while isWanted() {
            let bytes = try self.read(at: offset, upTo: 1 << 20)
            guard !bytes.isEmpty else { return ContentDigest(hash) }
            hash.update(bytes)
            offset += Int64(bytes.count)
        }
        return nil
    }
}

/// The file of a finished download.
package struct DownloadedFile: Sendable {
    /// True if the task is confined to directories; the file is then opened below them.
    package let isConfined: Bool
    private let file: FileLocation
    /// The identity of the written file; nil if it was not recorded.
    private let written: FileIdentity?

    /// The file of a task of this process or of the journal; nil if the task has none.
    init?(_ task: TransferTask?, _ journaled: JournaledTask?) {
        let (request, description) = (task?.request, journaled?.description)
        guard let path = request?.destination.path ?? description?.file else { return nil }
        let directories = (request?.options ?? description?.options)?.confinedTo
        self.isConfined = directories != nil
        self.file = FileLocation(path, below: directories)
        self.written = journaled?.placing
    }

    /// Opens the file; each call of the returned closure reads up to 64 KiB, and nothing at the end.
    ///
    /// - Throws: An error that names the file, even if it has changed since it was written.
    package func open() throws -> @Sendable () throws -> [UInt8] {
        let identity = try FileIdentity.of(self.file)
        guard self.written.map(identity.hasContents) ?? true else {
            throw FileError(operation: "changed after the task had written it", path: self.file.path, code: 0)
        }
        let body = Mutex(try BodyFile(self.file, identity))
        return { try body.withLock { try $0.read(upTo: 64 << 10) } }
    }
}
