internal import TidegateCore
internal import TidegateTransfer

/// The bodies of tasks: where a response's goes and what is held of it, where a request's comes from, and digests.
struct TaskBodies {
    /// What streams on other threads report.
    enum StreamEvent: Sendable {
        /// The reader of a response's body takes chunks again.
        case sinkHasRoom
        /// The stream that is sent has bytes.
        case sourceHasBytes
        /// The reader of a response's body is gone.
        case readerIsGone
    }

    let driver: TaskDriver
    let failures: FailureReporter
    let writer: DownloadWriter
    let journal: JournalWriter
    let random: RandomSource
    let diskRecheck: Duration
    let deliver: @Sendable (_ task: UInt64, StreamEvent) -> Void

    // MARK: - Preparing

    /// Looks once, before anything is waited for, whether the task can begin and end here; false if it failed.
    func prepare(_ record: TaskRecord) -> Bool {
        guard !record.download.isPrepared else { return true }
        record.download.isPrepared = true
        if let error = record.request.policyError {
            self.failures.fail(record, .invalidRequest, FailureSentence(error.description))
            return false
        }
        do {
            if record.request.createsDirectories { try record.paths?.createDirectories() }
            if let obstacle = record.paths?.obstacle() {
                self.failures.fail(record, .fileError, FailureSentence(obstacle))
                return false
            }
            // It may have been accepted long ago.
            if let state = record.journal, let problem = JournalWriter.bodyProblem(state.task) {
                self.failures.fail(record, problem.failure, FailureSentence(problem.message))
                return false
            }
            if let file = record.request.bodyFile { record.download.uploadIdentity = try FileIdentity.of(file) }
            guard self.connectStreams(record) else { return false }
            try self.adoptEarlierPart(record)
            return true
        } catch {
            self.failures.fail(record, error.failure, FailureSentence(self.message(for: error, record)))
            return false
        }
    }

    // False if the task has failed because one of its streams is another task's.
    private func connectStreams(_ record: TaskRecord) -> Bool {
        let (deliver, number, id) = (self.deliver, record.number, record.task.id)
        var other: String?
        if case .stream(let stream) = record.request.body, !stream.claim(for: id) { other = "request" }
        if case .stream(let stream) = record.request.destination,
            !stream.connect(
                to: id, hasRoom: { deliver(number, .sinkHasRoom) }, isGone: { deliver(number, .readerIsGone) })
        {
            other = "response"
        }
        guard let other else { return true }
        self.failures.fail(record, .invalidRequest, "the stream for the \(other)'s body is another task's")
        return false
    }

    private func adoptEarlierPart(_ record: TaskRecord) throws(FileError) {
        guard record.keepsBytes, let paths = record.paths, let point = try self.earlierPoint(record, paths) else {
            return
        }
        try self.writer.adoptPartial(
            &record.download, at: paths, permissions: record.destination.permissions, point)
    }

    private func earlierPoint(_ record: TaskRecord, _ paths: DownloadPaths) throws(FileError) -> ResumePoint? {
        if let state = record.journal, let point = JournalWriter.resumePoint(state.task) { return point }
        if let point = record.request.resuming?.point, point.isUsable { return point }
        guard record.continues, let data = try paths.readRecord(), data.url == record.request.address.text,
            data.point.isUsable
        else { return nil }
        return data.point
    }

    /// A file's error as users read it.
    func message(for error: FileError, _ record: TaskRecord) -> String {
        guard error.operation == "flock", let paths = record.paths else { return error.description }
        return "another download to \(paths.destination) is under way"
    }

    // MARK: - Attempts

    func checkUpload(_ record: TaskRecord) throws(FileError) {
        if let file = record.request.bodyFile { try self.writer.checkUpload(record.download, at: file) }
    }

    func upload(of record: TaskRecord) -> AttemptBody {
        guard record.hop.keepsBody else { return .none }
        switch record.request.body {
        case .none: return .none
        case .data(let bytes): return .bytes(bytes)
        case .file(let path):
            return .file(
                FileLocation(path, below: record.request.confinedTo),
                length: record.download.uploadIdentity?.size ?? 0)
        case .stream(let own):
            let stream = record.uploadStream ?? own
            let (deliver, number) = (self.deliver, record.number)
            stream.connect { deliver(number, .sourceHasBytes) }
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
        case .file: return try self.fileSink(of: record)
        }
    }

    func fileSink(of record: TaskRecord) throws(FileError) -> BodySink {
        guard let paths = record.paths else { return .discard }
        return try self.writer.openSink(
            &record.download, at: paths, permissions: record.destination.permissions)
    }

    // MARK: - While bytes come

    func beginWriteBack(_ record: TaskRecord) {
        guard let progress = record.live?.progress else { return }
        self.writer.beginWriteBack(record.download, upTo: progress.offset + progress.received)
    }

    /// Writes down, now and then, how far a download is that another process may continue.
    func noteOffset(_ record: TaskRecord) {
        guard let file = record.download.file, let live = record.live, record.download.partial.validator != nil,
            self.driver.now >= live.nextNote
        else { return }
        let offset = live.progress.offset + live.progress.received
        if record.journal != nil {
            guard record.keepsBytes, let journal = self.journal.journal else { return }
            live.nextNote = self.driver.now + journal.checkpointInterval
            let entry = self.offsetEntry(offset, record)
            self.writer.synchronize(file) { journal.record(entry) { _ in } }
        } else if record.continues {
            live.nextNote = self.driver.now + .seconds(2)
            self.writer.noteOffset(
                file, url: record.request.address.text, record.download.partial.point(at: offset))
        }
    }

    private func offsetEntry(_ offset: Int64, _ record: TaskRecord) -> JournalEntry {
        JournalWriter.offsetEntry(
            record.task.id, record.download.partial, offset: offset,
            self.journal.lifetime(of: record, at: self.driver.now))
    }

    // MARK: - Digests

    /// What sums up a body that is gone once it is delivered; nil if the body can be read again.
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

    /// What is wrong with a body that has been delivered already; nil if nothing is, or it is yet to be read.
    func wrongDigest(_ record: TaskRecord) -> String? {
        guard let wanted = record.request.sha256, let digest = record.delegate?.digest?.digest else { return nil }
        record.result.sha256 = digest.description
        return digest == wanted ? nil : wanted.mismatch(digest)
    }

    /// True if a body has the wrong digest because its parts may not belong together: it is fetched again, once.
    func mayFetchAgain(_ record: TaskRecord) -> Bool {
        record.download.partial.isJoined && !record.download.partial.wasRestarted && !record.isStream
    }

    // MARK: - Ends

    /// Begins to commit or to sum up a body that is whole.
    func commit(_ record: TaskRecord) {
        let isStarted =
            if record.download.file == nil {
                self.writer.sumUp(&record.download, of: record.number, expecting: record.request.sha256)
            } else {
                self.writer.commit(
                    &record.download, of: record.number, permissions: record.destination.permissions,
                    digest: record.request.sha256)
            }
        if !isStarted { self.driver.feed(.committed(isGood: false), to: record) }
    }

    /// Everything that came has to come again.
    func forgetBody(_ record: TaskRecord) {
        self.writer.forgetBody(&record.download)
        record.result.delivered = 0
        record.result.sha256 = nil
        record.resetRedirects()
    }

    /// What continues an ended task's download; nil if nothing of it is kept for its user.
    func resumeData(of record: TaskRecord) -> ResumeData? {
        guard record.download.hasTemporary, self.leavesPart(record), let paths = record.paths,
            let point = record.download.partial.resumePoint
        else { return nil }
        return ResumeData(url: record.request.address.text, file: paths.destination.path, point: point)
    }

    private func leavesPart(_ record: TaskRecord) -> Bool {
        record.continues || record.delegate?.keepsPartial == true
    }

    /// Keeps or removes what an ended task leaves on the disk; false if there is nothing to wait for.
    func clean(_ record: TaskRecord) -> Bool {
        guard record.download.hasTemporary, let paths = record.paths else { return false }
        let isKept = (self.leavesPart(record) || record.isPreserved) && record.download.partial.resumePoint != nil
        let offset = record.download.partial.offset
        return self.writer.clean(
            record.download, of: record.number, at: paths,
            keeping: DownloadWriter.Remainder(
                url: record.request.address.text,
                point: isKept ? record.download.partial.point(at: offset) : nil,
                entry: record.isPreserved && isKept ? self.offsetEntry(offset, record) : nil),
            journal: self.journal.journal)
    }
}

extension JournalWriter {
    /// How far a task has come in its life, and what it has used up.
    func lifetime(of record: TaskRecord, at now: MonotonicTime) -> TaskLifetime {
        self.lifetime(
            record.clocks.lifetime(at: now),
            RetryProgress(
                active: record.clocks.activeTime(at: now), waited: record.clocks.waitedTime(at: now),
                charged: record.retry.counter.charged, inARow: record.retry.counter.inARow))
    }

    /// Writes down what an accepted task has used up.
    func noteAttempt(_ record: TaskRecord, at now: MonotonicTime) {
        if record.journal != nil { self.noteAttempt(record.task.id, self.lifetime(of: record, at: now)) }
    }
}
