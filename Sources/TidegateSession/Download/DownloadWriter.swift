internal import TidegateCore
internal import TidegateTransfer

/// Writes one download's file: opens and locks it, keeps what can be continued, commits what is whole, discards the
/// rest, and sums bodies up.
///
/// Whatever may take long happens on the disk's thread and reports back.
struct DownloadWriter {
    /// What the disk's thread reports.
    enum Event: Sendable {
        /// A finished download is at its destination, does not have the expected digest, or could not be committed.
        case committed(Result<Bool, FileError>)
        /// What an unfinished download leaves behind has been kept or removed.
        case cleaned
        /// The stored body that a server has confirmed; nil if it is damaged or gone.
        case restored([UInt8]?)
        /// The response was stored for later requests, or could not be.
        case stored
    }

    /// What remains of a download that is not committed.
    struct Remainder {
        /// The URL of the request.
        var url: String
        /// Where the body can be continued; nil removes the file.
        var point: ResumePoint?
        /// What the journal records instead of a file beside the download, once the bytes are durable.
        var entry: JournalEntry?
    }

    let disk: DiskThread
    let deliver: @Sendable (_ task: UInt64, Event) -> Void

    // MARK: - Opening

    /// Goes on with what an earlier download left, if that can be found.
    ///
    /// The file is open, and so locked, from now on: nothing else may change it while the task waits.
    func adoptPartial(
        _ state: inout DownloadState, at paths: DownloadPaths, permissions: UInt16?, _ point: ResumePoint
    ) throws(FileError) {
        let file = try DownloadFile.open(paths, keeping: point.offset, permissions: permissions)
        state.file = file
        state.hasTemporary = true
        let held = min(point.offset, try file.size())
        if held > 0 { state.partial.adopt(point, held: held) }
    }

    /// Opens the file for the next attempt, cut to what is continued.
    func openSink(
        _ state: inout DownloadState, at paths: DownloadPaths, permissions: UInt16?
    ) throws(FileError) -> BodySink {
        // Not `??`, which forgets what its right side throws.
        let open = state.file
        let file =
            if let open { open } else {
                try DownloadFile.open(
                    paths, keeping: state.partial.resumePoint?.offset, permissions: permissions)
            }
        state.hasTemporary = true
        state.file = file
        let size = try file.size()
        // What is not held is not continued either: a hole would be filled with zeros.
        if let kept = state.partial.resumePoint?.offset, kept <= size {
            if size > kept { try file.truncate(to: kept) }
        } else {
            state.partial.startOver()
            if size > 0 { try file.truncate(to: 0) }
        }
        return .file(file)
    }

    /// Makes sure that the file that is sent is the one with which the task began.
    func checkUpload(_ state: DownloadState, at file: FileLocation) throws(FileError) {
        guard let identity = state.uploadIdentity else { return }
        guard try FileIdentity.of(file) == identity else {
            // ESTALE: the file is another one than when the task began.
            throw FileError(operation: "the file changed under the task", path: file.path, code: 116)
        }
    }

    // MARK: - While bytes come

    /// Lets the disk begin with what has come: what is written at a download's end is waited for.
    func beginWriteBack(_ state: DownloadState, upTo offset: Int64) {
        guard let file = state.file, let range = file.takeWriteBack(upTo: offset) else { return }
        // There is no hurry any more if the disk's thread is stopping.
        self.disk.perform {
            file.beginWriteBack(range)
        } completion: { _ in
        }
    }

    /// Makes the bytes durable, and then calls `done`, which may promise them to a later process.
    func synchronize(_ file: DownloadFile, then done: @escaping @Sendable () throws(FileError) -> Void) {
        self.disk.perform {
            () throws(FileError) -> Bool in
            // Bytes first: the record never promises more than the disk has.
            try file.synchronize()
            try done()
            return true
        } completion: { _ in
        }
    }

    /// Writes down how far a download is that another process may continue.
    func noteOffset(_ file: DownloadFile, url: String, _ point: ResumePoint) {
        self.synchronize(file) { () throws(FileError) in try file.paths.writeRecord(url: url, point) }
    }

    // MARK: - The end

    /// Commits a finished download: digest, permissions, fsync(2), rename(2); false if nothing will be reported.
    func commit(_ state: inout DownloadState, of task: UInt64, permissions: UInt16?, digest: ContentDigest?) -> Bool {
        guard let file = state.file else { return false }
        let (deliver, commit) = (self.deliver, FileCommit())
        state.commit = commit
        return self.disk.perform {
            () throws(FileError) -> Bool in
            if digest != nil {
                commit.digest = try file.digest { !commit.isAbandoned }
                guard commit.digest == digest else { return false }
            }
            if let permissions { try file.setPermissions(permissions) }
            try file.commit()
            commit.didCommit()
            return true
        } completion: {
            deliver(task, .committed($0))
        }
    }

    /// Sums up a body in memory, on the disk's thread because that takes long; false if nothing will be reported.
    func sumUp(_ state: inout DownloadState, of task: UInt64, expecting digest: ContentDigest?) -> Bool {
        let (deliver, commit, body) = (self.deliver, FileCommit(), state.body)
        state.commit = commit
        return self.disk.perform {
            () throws(FileError) -> Bool in
            commit.digest = ContentDigest(of: body)
            return commit.digest == digest
        } completion: {
            deliver(task, .committed($0))
        }
    }

    /// Everything that came has to come again.
    func forgetBody(_ state: inout DownloadState) {
        state.partial.startOver()
        state.commit = nil
        state.body = []
        state.finalProgress = nil
        // A file that cannot be cut is written from its start.
        try? state.file?.truncate(to: 0)
    }

    /// Keeps or removes what an unfinished download leaves; false if nothing will be reported.
    func clean(
        _ state: DownloadState, of task: UInt64, at paths: DownloadPaths, keeping remainder: Remainder,
        journal: (any JournalStorage)?
    ) -> Bool {
        let (file, commit, offset) = (state.file, state.commit, state.partial.offset)
        let deliver = self.deliver
        return self.disk.perform {
            () throws(FileError) -> Bool in
            // Asked for while the file was being committed: what has that name now belongs to another download.
            if let commit, commit.isDone { return true }
            let left = if let file { file } else { try DownloadFile.open(paths, keeping: offset) }
            // Once the end is published the file may be continued at once.
            defer { left.unlock() }
            guard let point = remainder.point else {
                try left.discard()
                return true
            }
            do throws(FileError) { try left.synchronize() } catch {
                // What the disk may have lost is not continued.
                try left.discard()
                throw error
            }
            if let entry = remainder.entry {
                journal?.record(entry) { _ in }
            } else {
                try paths.writeRecord(url: remainder.url, point)
            }
            return true
        } completion: { _ in
            // What could not be removed stays beside the destination; the task's end does not depend on it.
            deliver(task, .cleaned)
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
