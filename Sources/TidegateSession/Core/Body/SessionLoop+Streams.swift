internal import TidegateCore
internal import TidegateTransfer

/// Bodies that come from streams and go to readers, and what is summed up on their way.
extension SessionLoop {
    /// Takes the reader's stream for this task; false where the task has failed for want of it.
    func claimsStream(_ record: TaskRecord) -> Bool {
        guard case .stream(let stream) = record.request.destination else { return true }
        let (line, number) = (self.surroundings.line, record.number)
        let isMine = stream.claim(hasRoom: { line.send(.sinkHasRoom(number)) }, isGone: { line.send(.cancel(number)) })
        if !isMine { self.fail(record, .invalidRequest, "the stream for the body is another task's") }
        return isMine
    }

    /// The stream as the engine takes it; it tells when it has bytes.
    func stream(_ stream: UploadStream, _ record: TaskRecord) -> AttemptBody {
        let (line, number) = (self.surroundings.line, record.number)
        stream.connect { line.send(.sourceHasBytes(number)) }
        return .stream(stream, length: stream.length)
    }

    // MARK: - Digests

    /// Who sums up a body that is gone once it is delivered; nil where it can be read again.
    func digest(of record: TaskRecord) -> BodyDigest? {
        switch record.destination {
        case .memory, .file: return nil
        case .descriptor, .stream, .discard: break
        }
        if let digest = record.extras?.digest {
            if record.hold.resumePoint == nil { digest.reset() }
            return digest
        }
        let digest = BodyDigest()
        record.extra.digest = digest
        return digest
    }

    /// What is wrong with a body that has been delivered already; nil where nothing is, or it is yet to be read.
    func wrongDigest(_ record: TaskRecord) -> String? {
        guard let wanted = record.request.sha256, let digest = record.extras?.digest?.digest else { return nil }
        record.tally.sha256 = digest.description
        return digest == wanted ? nil : self.words(wanted: wanted, found: digest)
    }

    /// True where the body is in memory and has to be summed up.
    func sumsUpBody(_ record: TaskRecord) -> Bool {
        guard record.request.sha256 != nil, case .memory = record.destination else { return false }
        return true
    }

    /// Sums a body in memory up where that stops nobody else.
    func sumUpBody(_ record: TaskRecord) {
        let (line, number, placement, body) = (self.surroundings.line, record.number, FileCommit(), record.body)
        record.placement = placement
        let wanted = record.request.sha256
        let isTaken = self.surroundings.disk.perform {
            () throws(FileError) -> Bool in
            placement.digest = ContentDigest(of: body)
            return placement.digest == wanted
        } completion: {
            line.send(.committed(number, $0))
        }
        if !isTaken { self.feed(.committed(isGood: false), to: record) }
    }

    /// A body was summed up before it is the task's.
    func summedUp(_ record: TaskRecord, isGood: Bool) {
        guard !isGood, let wanted = record.request.sha256, let found = record.placement?.digest else {
            return self.feed(.committed(isGood: isGood), to: record)
        }
        if self.mayStartAnew(record) {
            let discarded = record.hold.restart()
            self.publish(.restarted(discarded: discarded), record)
            self.forgetBody(record)
            return self.feed(.commitLeads, to: record)
        }
        // Nothing of it is worth going on from.
        _ = record.hold.restart()
        record.body = []
        record.tally.failure = .digestMismatch
        record.tally.explanation =
            "\(record.request.address.textWithoutQuery): \(self.words(wanted: wanted, found: found))"
        record.tally.attribution = self.attribution(of: .digestMismatch, record)
        self.feed(.committed(isGood: false), to: record)
    }

    /// True where a body has the wrong digest because its parts may not belong together: it is fetched anew, once.
    func mayStartAnew(_ record: TaskRecord) -> Bool {
        record.hold.isJoined && !record.hold.wasRestarted && !record.isStream
    }

    /// Everything that came is to come again.
    func forgetBody(_ record: TaskRecord) {
        record.hold.startOver()
        record.placement = nil
        record.body = []
        record.finalProgress = nil
        record.tally.delivered = 0
        record.tally.sha256 = nil
        // A file that cannot be cut is written from its start.
        try? record.file?.truncate(to: 0)
        self.backToTheStart(record)
    }

    /// What an unfinished download leaves can be gone on with by another task.
    func keepResumeData(_ record: TaskRecord) {
        guard let point = record.hold.resumePoint, let paths = record.paths else { return }
        record.extra.resumeData = ResumeData(
            url: record.request.address.text, file: paths.destination, point: point)
    }

    func words(wanted: ContentDigest, found: ContentDigest) -> String {
        "the body's SHA-256 is \(found) and not \(wanted)"
    }
}

extension DownloadFile {
    /// The digest of everything in the file, or nil where `isWanted` says no on the way.
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
