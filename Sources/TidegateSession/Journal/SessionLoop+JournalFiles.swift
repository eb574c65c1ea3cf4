internal import TidegateCore
internal import TidegateTransfer

/// Files of accepted tasks, and their ends.
extension SessionLoop {
    // MARK: - Offsets

    /// How much of the body is held by the journal's word; nil where nothing can be continued.
    func journaledPoint(_ record: TaskRecord) -> ResumePoint? {
        record.journal?.task.hold.flatMap { $0.isUsable ? $0 : nil }
    }

    /// Writes down, now and then, how much of a download is durable; the bytes first.
    func noteOffset(_ record: TaskRecord) {
        guard record.keepsBytes, let file = record.file, let live = record.attempt, record.hold.validator != nil,
            self.now >= live.nextRecord, let journal = self.surroundings.journal
        else { return }
        record.attempt?.nextRecord = self.now + journal.checkpointInterval
        self.writeOffset(live.progress.offset + live.progress.received, of: file, record)
    }

    private func writeOffset(_ offset: Int64, of file: DownloadFile, _ record: TaskRecord) {
        guard let journal = self.surroundings.journal else { return }
        let entry = self.held(offset, record)
        self.surroundings.disk.perform {
            () throws(FileError) -> Bool in
            try file.synchronize()
            return true
        } completion: { result in
            if case .success = result { journal.record(entry) { _ in } }
        }
    }

    /// The entry that promises so many bytes.
    func held(_ offset: Int64, _ record: TaskRecord) -> JournalEntry {
        let hold = ResumePoint(offset: offset, validator: record.hold.validator, total: record.hold.total)
        return .held(record.task.id, hold, self.life(of: record))
    }

    // MARK: - Placing

    /// True where the journal is told before the file is moved; the move follows its answer.
    func asksBeforePlacing(_ record: TaskRecord) -> Bool {
        guard record.journal != nil, let journal = self.surroundings.journal, let paths = record.paths,
            let file = try? FileIdentity.of(paths.temporary)
        else { return false }
        let (line, number, id) = (self.surroundings.line, record.number, record.task.id)
        journal.record(.placing(id, file)) { _ in
            // Without the mark the file is only fetched again after a crash.
            line.send(.journaled(number, .placing, nil))
        }
        return true
    }

    func place(_ record: TaskRecord, _ error: JournalError?) {
        guard record.machine.phase == .finishing else { return }
        self.move(record)
    }

    /// True where an earlier process had moved the file and could not say so any more.
    func isPlaced(_ record: TaskRecord, _ mark: JournalState) -> Bool {
        guard let file = mark.task.placing, let paths = record.paths,
            let there = try? FileIdentity.of(paths.destination)
        else { return false }
        return there == file
    }

    func finishPlaced(_ record: TaskRecord) {
        record.tally.movedTo = record.paths?.destination
        record.tally.delivered = record.journal?.task.placing?.size ?? 0
        if let movedTo = record.tally.movedTo { self.publish(.moved(file: movedTo), record) }
        self.feed(.foundDone, to: record)
    }

    // MARK: - The end

    /// True once the journal knows how the task ended, or where that is nothing to it.
    func isEndWritten(_ record: TaskRecord, _ outcome: TaskOutcome) -> Bool {
        guard let mark = record.journal, !mark.isLeft, let journal = self.surroundings.journal else { return true }
        switch mark.end {
        case .written: return true
        case .asked: return false
        case .open: break
        }
        mark.end = .asked
        let result = self.result(of: record, outcome)
        let end = JournaledEnd(
            outcome: outcome, failure: result.failure, explanation: result.explanation, status: result.status,
            bytes: result.bytes, attempts: result.attempts, at: self.surroundings.time.wall())
        let (line, number) = (self.surroundings.line, record.number)
        journal.record(.ended(record.task.id, end)) { result in
            var trouble: JournalError?
            if case .failure(let error) = result { trouble = error }
            line.send(.journaled(number, .ended, trouble))
        }
        return false
    }

    func endWritten(_ record: TaskRecord, _ mark: JournalState, _ error: JournalError?) {
        guard let error, error.reason != .closed else {
            mark.end = .written
            // An end that nobody will find is no end: the next process makes it again.
            if error != nil { mark.isLeft = true }
            return self.publishEnd(of: record)
        }
        // Whoever is told of an end must find it after the next crash, too.
        mark.end = .open
        record.task.board.update { board in
            board.face.state = .waiting(.disk, detail: error.description)
            board.held = [.disk]
        }
        let (line, number) = (self.surroundings.line, record.number)
        self.surroundings.journal?.whenWritable { line.send(.journaled(number, .writable, nil)) }
    }

    /// The task is over for everybody: those that waited for it begin.
    func letFollowersGo(_ record: TaskRecord) {
        guard let mark = record.journal else { return }
        self.journaled[record.task.id] = nil
        guard !mark.isLeft else { return }
        for number in mark.followers {
            if let follower = self.records[number] { self.feed(.release(.schedule), to: follower) }
        }
    }

    /// Ends a task in this process only: the next one goes on with it.
    func leave(_ record: TaskRecord) {
        guard let mark = record.journal, !record.machine.isOver else { return }
        mark.isLeft = true
        if !record.machine.isSuspended { self.noteTry(record) }
    }
}
