internal import TidegateCore
internal import TidegateLoop
internal import TidegateTransfer

/// The bodies of tasks: destinations and held parts of responses, sources of requests, and digests.
struct TaskBodies {
    /// Reports of streams on other threads.
    enum StreamEvent: Sendable {
        /// The reader of a response's body has room for chunks again.
        case sinkHasRoom
        /// The source stream has bytes.
        case sourceHasBytes
        /// The reader of a response's body is gone.
        case readerIsGone
    }

    let journal: JournalWriter
    let random: RandomSource
    let diskRecheck: Duration
    let mailbox: Mailbox

    // MARK: - Preparing

    /// Checks once, before any wait, whether the task can begin and end on this host; returns the problem.
    func prepare(_ record: TaskRecord) -> TaskProblem? {
        guard !record.download.isPrepared else { return nil }
        record.download.isPrepared = true
        if let error = record.request.policyError {
            return (.invalidRequest, FailureSentence(error.description))
        }
        do {
            if let problem = self.place(record) { return problem }
            // The task may have been accepted long ago.
            if let state = record.journal, let problem = JournalWriter.bodyProblem(state.task) { return problem }
            if let file = record.request.bodyFile { record.download.uploadIdentity = try FileIdentity.of(file) }
            if let problem = self.connectStreams(record) { return problem }
            try self.adoptEarlierPart(record)
            return nil
        } catch {
            return (error.failure, FailureSentence(self.message(for: error, record)))
        }
    }

    // Decides how the body's file is written, and opens what is no file; returns the problem.
    private func place(_ record: TaskRecord) -> TaskProblem? {
        guard let given = record.paths else { return nil }
        do throws(FileError) {
            // A task of the journal outlives this process: its file must appear complete, or not at all.
            let paths = try given.checked(
                onlyFiles: record.journal != nil, makingDirectories: record.request.options.createsDirectories)
            if record.request.options.keepsExistingFile, given.isTaken {
                throw FileError(operation: "exists already; remove it, or use -o", path: given.destination.path)
            }
            if paths != given { record.download.paths = paths }
            guard paths.way == .stream else { return nil }
            let stream = try DownloadFile.open(paths)
            (record.ownDelegate.output, record.download.paths) = (stream, nil)
            record.ownDelegate.destination = .descriptor(stream.descriptor)
            return nil
        } catch {
            return (error.failure, FailureSentence(error.description))
        }
    }

    private func connectStreams(_ record: TaskRecord) -> TaskProblem? {
        let (mailbox, number, id) = (self.mailbox, record.number, record.task.id)
        var other: String?
        if case .stream(let stream) = record.request.body, !stream.claim(for: id) { other = "request" }
        if case .stream(let stream) = record.request.destination,
            !stream.connect(
                to: id, hasRoom: { mailbox.send(.stream(number, .sinkHasRoom)) },
                isGone: { mailbox.send(.stream(number, .readerIsGone)) })
        {
            other = "response"
        }
        return other.map { (.invalidRequest, "the stream for the \($0)'s body belongs to another task") }
    }

    /// Continues an earlier download, if its part can be found.
    private func adoptEarlierPart(_ record: TaskRecord) throws(FileError) {
        guard record.keepsBytes, let paths = record.paths else { return }
        guard let point = try self.earlierPoint(record, paths) else {
            // A list that runs again has complete files; with a digest, their length would not do.
            if record.continues, paths.way == .replaced, record.request.options.sha256 == nil,
                let file = try? FileIdentity.of(paths.destination), file.size > 0, !paths.isPreallocated
            {
                record.download.whole = file
            }
            return
        }
        // The file is open and locked from here on: nothing else may change it while the task waits.
        let file = try DownloadFile.open(paths, keeping: point.offset, permissions: record.destination.permissions)
        record.download.file = file
        record.delegate?.reader?.take(file)
        record.download.hasTemporary = true
        let held = min(point.offset, try file.size())
        if held > 0 { record.download.partial.adopt(point, held: held) }
    }

    private func earlierPoint(_ record: TaskRecord, _ paths: DownloadPaths) throws(FileError) -> ResumePoint? {
        guard paths.way == .replaced else { return nil }
        let isVerified = record.download.partial.isVerified
        for point in [record.journal?.task.hold, record.request.options.resuming?.point].compactMap(\.self)
        where point.isUsable(isVerified: isVerified) { return point }
        guard record.continues, let data = try paths.readRecord(), data.url == record.request.address.text,
            data.point.isUsable(isVerified: isVerified)
        else { return nil }
        return data.point
    }

    /// A file error as shown to users.
    func message(for error: FileError, _ record: TaskRecord) -> String {
        guard error.operation == "flock", let paths = record.paths else { return error.description }
        return "another download to \(paths.destination) is under way"
    }

    // MARK: - Attempts

    /// Checks that the file to send has not changed since the task began.
    func checkUpload(_ record: TaskRecord) throws(FileError) {
        guard let file = record.request.bodyFile, let identity = record.download.uploadIdentity else { return }
        guard try FileIdentity.of(file) == identity else {
            // ESTALE: not the file with which the task began.
            throw FileError(operation: "the file changed during the task", path: file.path, code: 116)
        }
    }

    func upload(of record: TaskRecord) -> AttemptBody {
        guard record.hop.keepsBody else { return .none }
        switch record.request.body {
        case .none: return .none
        case .data(let bytes): return .bytes(bytes)
        case .file(let path):
            return .file(
                FileLocation(path, below: record.request.options.confinedTo),
                length: record.download.uploadIdentity?.size ?? 0)
        case .stream(let own):
            let stream = record.uploadStream ?? own
            let (mailbox, number) = (self.mailbox, record.number)
            stream.connect { mailbox.send(.stream(number, .sourceHasBytes)) }
            return .stream(stream, length: stream.length)
        }
    }

    func sink(of record: TaskRecord) throws(FileError) -> BodySink {
        switch record.destination {
        case .memory(let limit): return .memory(limit: limit)
        case .descriptor(let descriptor): return .descriptor(descriptor)
        case .stream(let stream): return .chunks(stream)
        case .discard:
            if record.download.partial.resumePoint == nil { record.download.partial.startOver() }
            return .discard
        // An answer about a complete file has no body for it.
        case .file where record.download.whole != nil: return .discard
        case .file: return try self.fileSink(of: record)
        }
    }

    /// Opens the file for the next attempt, truncated to the part to continue.
    func fileSink(of record: TaskRecord) throws(FileError) -> BodySink {
        guard let paths = record.paths else { return .discard }
        let kept = record.download.partial.resumePoint?.offset
        // Not `??`, which loses the error type of its right side.
        let open = record.download.file
        let file =
            if let open { open } else {
                try DownloadFile.open(paths, keeping: kept, permissions: record.destination.permissions)
            }
        record.download.hasTemporary = true
        record.download.file = file
        if open == nil { record.delegate?.reader?.take(file) }
        let size = try file.size()
        // A part that is shorter than recorded is not continued: the hole would be filled with zeros.
        if let kept, kept <= size {
            if size > kept { try file.truncate(to: kept) }
        } else {
            record.download.partial.startOver()
            if size > 0, file.paths.way == .replaced { try file.truncate(to: 0) }
        }
        return .file(file)
    }

    /// Turns a task with a body for memory or no destination into a download; returns the problem.
    func makeDownload(of record: TaskRecord, to destination: Destination) -> TaskProblem? {
        switch record.request.destination {
        case .memory, .discard: break
        case .file, .descriptor, .stream:
            return (.invalidRequest, "a body with another destination cannot become a download")
        }
        record.ownDelegate.destination = destination
        // The digest of a file is computed from the file.
        record.ownDelegate.digest = nil
        return self.place(record)
    }

    // MARK: - Transfer of bytes

    /// Starts write-back of the received bytes, because the end of a download waits for the disk.
    func beginWriteBack(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let progress = record.live?.progress, let file = record.download.file,
            let range = file.takeWriteBack(upTo: progress.offset + progress.received)
        else { return }
        tasks.perform {
            file.beginWriteBack(range)
            return nil
        }
    }

    /// Records the progress of a download from time to time, so that another process may continue it.
    func noteOffset(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let file = record.download.file, let live = record.live, record.download.partial.mayContinue,
            tasks.now >= live.nextNote
        else { return }
        let offset = live.progress.offset + live.progress.received
        if record.journal != nil {
            guard record.keepsBytes, let journal = self.journal.journal else { return }
            live.nextNote = tasks.now + journal.checkpointInterval
            let entry = self.offsetEntry(offset, record, at: tasks.now)
            tasks.synchronize(file) { journal.record(entry) { _ in } }
        } else if record.continues, file.paths.way == .replaced {
            live.nextNote = tasks.now + .seconds(2)
            let (url, point) = (record.request.address.text, record.download.partial.point(at: offset))
            tasks.synchronize(file) { () throws(FileError) in
                try file.paths.writeRecord(url: url, point)
            }
        }
    }

    private func offsetEntry(_ offset: Int64, _ record: TaskRecord, at now: MonotonicTime) -> JournalEntry {
        .held(
            record.task.id, record.download.partial.point(at: offset), self.journal.lifetime(of: record, at: now))
    }

    // MARK: - Digests

    /// The incremental digest of a body that cannot be read again after delivery; nil if it can.
    func digest(of record: TaskRecord) -> BodyDigest? {
        switch record.destination {
        case .memory, .file: return nil
        case .descriptor, .stream, .discard: break
        }
        if let digest = record.delegate?.digest {
            if record.download.partial.resumePoint == nil { digest.reset() }
            return digest
        }
        let digest = BodyDigest()
        record.ownDelegate.digest = digest
        return digest
    }

    /// The digest problem of a delivered body; nil if none exists or the body is still to be read.
    func wrongDigest(_ record: TaskRecord) -> String? {
        guard let wanted = record.request.options.sha256, let digest = record.delegate?.digest?.digest else {
            return nil
        }
        record.result.sha256 = digest.description
        return digest == wanted ? nil : wanted.mismatch(digest)
    }

    /// True if a wrong digest may come from parts that do not belong together: the body is then fetched again.
    func mayFetchAgain(_ record: TaskRecord) -> Bool {
        record.download.partial.isJoined && !record.download.partial.wasRestarted && !record.isStream
    }

    // MARK: - Ends

    /// Starts committing a finished download (digest, permissions, fsync(2), rename(2)) or computing the digest of a
    /// body in memory; both are slow.
    func commit(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        let (digest, permissions) = (record.request.options.sha256, record.destination.permissions)
        let modified = record.request.options.takesRemoteTime ? record.lastModified : nil
        let replaces = !record.request.options.keepsExistingFile
        let (file, body, commit) = (record.download.file, record.download.body, FileCommit())
        record.download.commit = commit
        let work: @Sendable () throws(FileError) -> Bool = {
            guard let file else {
                commit.digest = ContentDigest(of: body)
                return commit.digest == digest
            }
            if digest != nil {
                commit.digest = try file.digest { !commit.isAbandoned }
                guard commit.digest == digest else { return false }
            }
            try file.commit(permissions: permissions, modified: modified, replacing: replaces)
            commit.didCommit()
            return true
        }
        tasks.perform(for: record.number) { .committed(Result(catching: work)) }
    }

    /// Discards the body, which must be fetched again completely.
    func forgetBody(_ record: TaskRecord) {
        record.download.partial.startOver()
        record.download.commit = nil
        record.download.body = []
        record.download.finalProgress = nil
        // A file that cannot be truncated is overwritten from its start.
        try? record.download.file?.truncate(to: 0)
        record.result.delivered = 0
        record.result.sha256 = nil
        record.resetRedirects()
    }

    /// The data to continue an ended task's download; nil if nothing is kept for its user.
    func resumeData(of record: TaskRecord) -> Indirect<ResumeData>? {
        guard record.download.hasTemporary, self.leavesPart(record), let path = record.destination.path,
            let point = record.download.partial.resumePoint
        else { return nil }
        return Indirect(ResumeData(url: record.request.address.text, file: path, point: point))
    }

    private func leavesPart(_ record: TaskRecord) -> Bool {
        record.paths?.way == .replaced && (record.continues || record.delegate?.keepsPartial == true)
    }

    /// Keeps or removes the files of an ended task; false if there is nothing to wait for.
    func clean(_ record: TaskRecord, _ tasks: inout SessionTasks) -> Bool {
        guard record.download.hasTemporary, let paths = record.paths else { return false }
        let isKept = (self.leavesPart(record) || record.isPreserved) && record.download.partial.resumePoint != nil
        let (commit, file, offset) = (record.download.commit, record.download.file, record.download.partial.offset)
        let (url, journal) = (record.request.address.text, self.journal.journal)
        let point = isKept ? record.download.partial.point(at: offset) : nil
        let entry = record.isPreserved && isKept ? self.offsetEntry(offset, record, at: tasks.now) : nil
        @Sendable func leave() throws(FileError) {
            let left = if let file { file } else { try DownloadFile.open(paths, keeping: offset) }
            // The file may be continued as soon as the end is published.
            defer { left.unlock() }
            guard let point else { return try left.discard() }
            do throws(FileError) { try left.synchronize() } catch {
                // Bytes that the disk may have lost are not continued.
                try left.discard()
                throw error
            }
            guard let entry else { return try paths.writeRecord(url: url, point) }
            // The journal stores it instead of a record file beside the download.
            journal?.record(entry) { _ in }
        }
        tasks.perform(for: record.number, refusal: .cleaned) {
            // Cancelled during the commit: the file with that name now belongs to another download.
            guard commit?.isDone != true else { return .cleaned }
            // A file that cannot be removed stays beside the destination; the task's end does not depend on it.
            try? leave()
            return .cleaned
        }
        return true
    }

    // MARK: - Full disks

    /// Handles a full disk: removes parts that cannot be continued, and retries the task later.
    func waitForDisk(_ record: TaskRecord, _ message: String, _ tasks: inout SessionTasks) {
        if record.download.partial.resumePoint == nil, let file = record.download.file {
            record.download.partial.startOver()
            // A file that cannot be truncated is overwritten from its start.
            try? file.truncate(to: 0)
        }
        record.resetRedirects()
        self.scheduleRecheck(record, &tasks)
        tasks.feed(.attemptHolds(.disk, detail: message), to: record)
    }

    /// Holds a task whose complete file cannot be committed for lack of disk space.
    func waitForRoom(_ record: TaskRecord, _ error: FileError, _ tasks: inout SessionTasks) {
        record.download.commit = nil
        // Data that fsync(2) could not write may also be gone from memory. After the move the error is about the
        // directory: the file is complete and at its destination.
        let isWhole = error.operation != "fsync" || error.path != record.paths?.temporary.path
        if !isWhole { self.forgetBody(record) }
        self.scheduleRecheck(record, &tasks)
        tasks.feed(.commitHolds(.disk, detail: error.description, isWhole: isWhole), to: record)
    }

    private func scheduleRecheck(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        tasks.schedule(.disk, of: record, after: self.random.lengthened(self.diskRecheck))
    }

    // MARK: - No free descriptors

    /// Holds an attempt for which no descriptor is free; it retries when one is.
    func waitForDescriptors(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        record.resetRedirects()
        self.scheduleDescriptorCheck(record, &tasks)
        tasks.feed(.attemptHolds(.descriptors, detail: nil), to: record)
    }

    /// Holds a complete body whose file cannot be committed for lack of a descriptor.
    func waitToCommit(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        record.download.commit = nil
        self.scheduleDescriptorCheck(record, &tasks)
        tasks.feed(.commitHolds(.descriptors, detail: nil, isWhole: true), to: record)
    }

    /// Checks whether a descriptor is free.
    func descriptorsDue(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard !DescriptorShortage.isNow(for: .task) else { return self.scheduleDescriptorCheck(record, &tasks) }
        tasks.feed(.release(.descriptors), to: record)
    }

    // Spread, so that waiting tasks do not all compete for the first descriptor.
    private func scheduleDescriptorCheck(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        tasks.schedule(.descriptors, of: record, after: self.random.lengthened(.seconds(1)))
    }
}
