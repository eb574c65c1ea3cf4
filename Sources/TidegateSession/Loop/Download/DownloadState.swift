internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// What a task has of its bodies.
struct DownloadState {
    var partial = PartialBody()
    var file: DownloadFile?
    /// Whether the finished file has reached its destination; nil until that is tried.
    var commit: FileCommit?
    /// True once a temporary file of this task may be on the disk.
    var hasTemporary = false
    /// The file that is sent, as it was when the task began.
    var uploadIdentity: FileIdentity?
    /// True once it was checked whether the task can begin and end on this host.
    var isPrepared = false
    /// The response's body, if it is kept in memory.
    var body: [UInt8] = []
    /// What the response has to do with the validator store; nil without one.
    var revalidation: RevalidationState?
    /// How far the attempt had come that brought everything.
    var finalProgress: TransferProgress?

    // MARK: - Opening

    /// Goes on with what an earlier download left, if that can be found.
    ///
    /// The file is open, and so locked, from now on: nothing else may change it while the task waits.
    mutating func adoptPartial(
        at paths: DownloadPaths, permissions: UInt16?, _ point: ResumePoint
    ) throws(FileError) {
        let file = try DownloadFile.open(paths, keeping: point.offset, permissions: permissions)
        self.file = file
        self.hasTemporary = true
        let held = min(point.offset, try file.size())
        if held > 0 { self.partial.adopt(point, held: held) }
    }

    /// Opens the file for the next attempt, cut to what is continued.
    mutating func openSink(at paths: DownloadPaths, permissions: UInt16?) throws(FileError) -> BodySink {
        // Not `??`, which forgets what its right side throws.
        let open = self.file
        let file =
            if let open { open } else {
                try DownloadFile.open(
                    paths, keeping: self.partial.resumePoint?.offset, permissions: permissions)
            }
        self.hasTemporary = true
        self.file = file
        let size = try file.size()
        // What is not held is not continued either: a hole would be filled with zeros.
        if let kept = self.partial.resumePoint?.offset, kept <= size {
            if size > kept { try file.truncate(to: kept) }
        } else {
            self.partial.startOver()
            if size > 0 { try file.truncate(to: 0) }
        }
        return .file(file)
    }

    /// Makes sure that the file that is sent is the one with which the task began.
    func checkUpload(at file: FileLocation) throws(FileError) {
        guard let identity = self.uploadIdentity else { return }
        guard try FileIdentity.of(file) == identity else {
            // ESTALE: the file is another one than when the task began.
            throw FileError(operation: "the file changed under the task", path: file.path, code: 116)
        }
    }

    // MARK: - While bytes come

    /// Lets the disk begin with what has come, because what is written at a download's end is waited for; nil if it is
    /// too little.
    func writeBack(upTo offset: Int64) -> DiskJob? {
        guard let file = self.file, let range = file.takeWriteBack(upTo: offset) else { return nil }
        return DiskJob {
            file.beginWriteBack(range)
            return nil
        }
    }

    // MARK: - The end

    /// Commits a finished download: digest, permissions, fsync(2), rename(2).
    mutating func commit(
        _ file: DownloadFile, of task: UInt64, permissions: UInt16?, digest: ContentDigest?
    ) -> DiskJob {
        let commit = FileCommit()
        self.commit = commit
        return DiskJob(committing: task) { () throws(FileError) in
            if digest != nil {
                commit.digest = try file.digest { !commit.isAbandoned }
                guard commit.digest == digest else { return false }
            }
            if let permissions { try file.setPermissions(permissions) }
            try file.commit()
            commit.didCommit()
            return true
        }
    }

    /// Sums up a body in memory, on the disk's thread because that takes long.
    mutating func sumUp(of task: UInt64, expecting digest: ContentDigest?) -> DiskJob {
        let (commit, body) = (FileCommit(), self.body)
        self.commit = commit
        return DiskJob(committing: task) { () throws(FileError) in
            commit.digest = ContentDigest(of: body)
            return commit.digest == digest
        }
    }

    /// Everything that came has to come again.
    mutating func forgetBody() {
        self.partial.startOver()
        self.commit = nil
        self.body = []
        self.finalProgress = nil
        // A file that cannot be cut is written from its start.
        try? self.file?.truncate(to: 0)
    }

    /// Keeps or removes what an unfinished download leaves.
    func clean(
        of task: UInt64, at paths: DownloadPaths, keeping remainder: DownloadRemainder, journal: (any JournalStorage)?
    ) -> DiskJob {
        let (file, commit, offset) = (self.file, self.commit, self.partial.offset)
        return DiskJob(task: task, refusal: .cleaned) {
            // Asked for while the file was being committed: what has that name now belongs to another download.
            guard commit?.isDone != true else { return .cleaned }
            // What cannot be removed stays beside the destination; the task's end does not depend on it.
            try? remainder.leave(at: paths, in: file, offset: offset, journal: journal)
            return .cleaned
        }
    }
}

/// Whether a finished download has reached its destination: written and read on the disk's thread, in order.
final class FileCommit: Sendable {
    private let done = Atomic<Bool>(false)
    private let abandoned = Atomic<Bool>(false)
    private let found = Mutex<ContentDigest?>(nil)

    var isDone: Bool { self.done.load(ordering: .acquiring) }

    func didCommit() { self.done.store(true, ordering: .releasing) }

    /// True once the file is not wanted any more: what takes long may stop.
    var isAbandoned: Bool { self.abandoned.load(ordering: .relaxed) }

    func abandon() { self.abandoned.store(true, ordering: .relaxed) }

    /// The body's digest; nil if that was not asked for or not finished.
    var digest: ContentDigest? {
        get { self.found.withLock { $0 } }
        set { self.found.withLock { $0 = newValue } }
    }
}

/// What the disk's thread reports of a task's download.
enum DiskEvent: Sendable {
    /// A finished download is at its destination, does not have the expected digest, or could not be committed.
    case committed(Result<Bool, FileError>)
    /// What an unfinished download leaves behind has been kept or removed.
    case cleaned
    /// The stored body that a server has confirmed; nil if it is damaged or gone.
    case restored([UInt8]?)
    /// The response was stored for later requests, or could not be.
    case stored
    /// The thread is stopping and did not do it.
    case refused
}

/// What remains of a download that is not committed.
struct DownloadRemainder {
    /// The URL of the request.
    var url: String
    /// Where the body can be continued; nil removes the file.
    var point: ResumePoint?
    /// What the journal records instead of a file beside the download, once the bytes are durable.
    var entry: JournalEntry?
}

extension DownloadRemainder {
    // Blocks: for the disk thread.
    fileprivate func leave(
        at paths: DownloadPaths, in file: DownloadFile?, offset: Int64, journal: (any JournalStorage)?
    ) throws(FileError) {
        let left = if let file { file } else { try DownloadFile.open(paths, keeping: offset) }
        // Once the end is published the file may be continued at once.
        defer { left.unlock() }
        guard let point = self.point else { return try left.discard() }
        do throws(FileError) { try left.synchronize() } catch {
            // What the disk may have lost is not continued.
            try left.discard()
            throw error
        }
        if let entry = self.entry {
            journal?.record(entry) { _ in }
        } else {
            try paths.writeRecord(url: self.url, point)
        }
    }
}

extension DownloadFile {
    /// The digest of everything in the file, or nil once `isWanted` says no.
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

/// The file that a download went to.
package struct DownloadedFile: Sendable {
    /// True if the task was confined to directories, which the file is opened below.
    package let isConfined: Bool
    private let file: FileLocation
    /// The file as it was written; nil if that was not recorded.
    private let written: FileIdentity?

    /// The file of a task of this process or of one in the journal; nil if the task has none.
    init?(_ task: TransferTask?, _ journaled: JournaledTask?) {
        let (request, description) = (task?.request, journaled?.description)
        guard let path = request?.destination.path ?? description?.file else { return nil }
        let directories = (request?.options ?? description?.options)?.confinedTo
        self.isConfined = directories != nil
        self.file = FileLocation(path, below: directories)
        self.written = journaled?.placing
    }

    /// Opens the file; each call of the result returns the next 64 KiB at most, and nothing at the end.
    ///
    /// - Throws: An error that names the file, also if it has changed since it was written.
    package func open() throws -> @Sendable () throws -> [UInt8] {
        let identity = try FileIdentity.of(self.file)
        guard self.written.map(identity.hasContents) ?? true else {
            throw FileError(operation: "changed after the task had written it", path: self.file.path, code: 0)
        }
        let body = Mutex(try BodyFile(self.file, identity))
        return { try body.withLock { try $0.read(upTo: 64 << 10) } }
    }
}
