internal import TidegateCore
internal import TidegateTransfer

/// Files to their places, and tasks to their ends.
extension SessionLoop {
    func commit(_ record: TaskRecord) {
        if record.file == nil, self.sumsUpBody(record) { return self.sumUpBody(record) }
        guard record.file != nil else { return self.feed(.committed(isGood: true), to: record) }
        if !self.asksBeforePlacing(record) { self.move(record) }
    }

    func move(_ record: TaskRecord) {
        guard let file = record.file, case .file(_, let permissions, _) = record.destination else { return }
        let (line, number, placement) = (self.surroundings.line, record.number, FileCommit())
        record.placement = placement
        let wanted = record.request.sha256
        let isTaken = self.surroundings.disk.perform {
            () throws(FileError) -> Bool in
            if wanted != nil {
                placement.digest = try file.digest { !placement.isAbandoned }
                guard placement.digest == wanted else { return false }
            }
            if let permissions { try file.setPermissions(permissions) }
            try file.commit()
            placement.note()
            return true
        } completion: {
            line.send(.committed(number, $0))
        }
        if !isTaken { self.feed(.committed(isGood: false), to: record) }
    }

    func committed(_ record: TaskRecord, _ result: Result<Bool, FileError>) {
        guard !record.machine.isOver else { return }
        record.tally.sha256 = record.placement?.digest?.description
        guard case .file(let path, _, _) = record.destination else {
            return self.summedUp(record, isGood: (try? result.get()) == true)
        }
        switch result {
        case .success(false): self.summedUp(record, isGood: false)
        case .success(true):
            record.hasTemporary = false
            record.tally.movedTo = path
            self.publish(.moved(file: path), record)
            self.feed(.committed(isGood: true), to: record)
        case .failure(let error) where error.failure == .diskFull && self.waitsOut(record):
            self.waitForRoom(record, error)
        case .failure(let error):
            self.publish(.moveFailed(file: path, errorNumber: error.code), record)
            record.tally.failure = error.failure
            record.tally.explanation = error.description
            record.tally.attribution = self.attribution(of: error.failure, record)
            self.feed(.committed(isGood: false), to: record)
        }
    }

    // MARK: - Continuation

    private func continuation(of record: TaskRecord, offset: Int64) -> ResumePoint {
        ResumePoint(offset: offset, validator: record.hold.validator, total: record.hold.total)
    }

    /// Writes down, every other second, how far a download is that another process may continue.
    func noteContinuation(_ record: TaskRecord) {
        if record.journal != nil { return self.noteOffset(record) }
        guard record.continues, let file = record.file, let live = record.attempt, record.hold.validator != nil,
            self.now >= live.nextRecord
        else { return }
        record.attempt?.nextRecord = self.now + .seconds(2)
        let point = self.continuation(of: record, offset: live.progress.offset + live.progress.received)
        let url = record.request.address.text
        self.surroundings.disk.perform {
            () throws(FileError) -> Bool in
            // Bytes first: the record never promises more than the disk has.
            try file.synchronize()
            try file.paths.writeRecord(url: url, point)
            return true
        } completion: { _ in
        }
    }

    // MARK: - The end

    /// The machine is done: sees to what is left on the disk, and then tells.
    func end(_ record: TaskRecord) {
        record.clocks.follow(record.situation, at: self.now)
        record.clocks.stop()
        self.disarm(record)
        self.giveSlotBack(record)
        self.queue.forget(record.number, record.hop.url.origin)
        self.standUp(record)
        self.leaveCircuit(record)
        self.leaveProbe(record)
        self.stopAsking(record)
        record.placement?.abandon()
        guard record.hasTemporary, let paths = record.paths else { return self.publishEnd(of: record) }
        let isLeft = record.journal?.isLeft ?? false
        let isWanted = record.continues || record.extras?.keepsPart == true
        let keep = (isWanted || isLeft) && record.hold.resumePoint != nil
        if keep, isWanted { self.keepResumeData(record) }
        let (url, point) = (
            record.request.address.text, keep ? self.continuation(of: record, offset: record.hold.offset) : nil
        )
        let (file, placement) = (record.file, record.placement)
        let (line, number, offset) = (self.surroundings.line, record.number, record.hold.offset)
        let promise = isLeft && keep ? self.held(offset, record) : nil
        let journal = self.surroundings.journal
        let isTaken = self.surroundings.disk.perform {
            () throws(FileError) -> Bool in
            // Asked for while the file was on its way: what has that name now is another one's.
            if let placement, placement.isDone { return true }
            let left = if let file { file } else { try DownloadFile.open(paths, keeping: offset) }
            // Whoever hears of the end may go on with the file at once.
            defer { left.unlock() }
            guard let point else {
                try left.discard()
                return true
            }
            try left.synchronize()
            if let promise { journal?.record(promise) { _ in } } else { try paths.writeRecord(url: url, point) }
            return true
        } completion: { _ in
            // What could not be tidied up stays beside the destination; the task's end does not depend on it.
            line.send(.cleaned(number))
        }
        if !isTaken { self.publishEnd(of: record) }
    }

    /// Tells everybody; nothing follows.
    func publishEnd(of record: TaskRecord) {
        guard !record.isPublished, case .ended(let outcome) = record.machine.phase,
            self.isEndWritten(record, outcome)
        else { return }
        let result = self.result(of: record, outcome)
        self.showEnd(of: record)
        if self.waitsForHandler(record, result) { return }
        record.isPublished = true
        record.file = nil
        self.records[record.number] = nil
        defer {
            self.letFollowersGo(record)
            self.finishDraining()
        }
        // The session's end did not wait for this thread and has told it already.
        guard let entry = self.surroundings.registry.end(record.task, holding: record.body.count) else { return }
        self.tellEnd(result, record)
        entry.onCompletion?(record.task, result)
        // One that the next process goes on with is not over for those who follow it.
        let isLeft = record.journal?.isLeft ?? false
        if isLeft {
            self.publish(.suspended(.shutdown), record)
        } else {
            self.publish(.completed(result.told(of: record.task)), record)
        }
        record.task.finish(result, resumeData: record.extras?.resumeData)
    }

    private func showEnd(of record: TaskRecord) {
        let (progress, started, body) = (record.progress, record.tally.started, record.body)
        let (head, url) = (record.tally.head, record.hop.url === record.firstHop.url ? nil : record.hop.url.text)
        record.task.board.update { board in
            board.head = head ?? board.head
            board.finalURL = url
            board.face.progress = progress
            board.face.started = started
            board.body = body
        }
    }

    func result(of record: TaskRecord, _ outcome: TaskOutcome) -> TaskResult {
        let failure: TaskFailure? =
            switch outcome {
            case .success: nil
            case .failure: record.tally.failure ?? .internal
            case .cancelled: .cancelled
            }
        let isGood = outcome == .success
        let partial = record.keepsBytes || record.isStream ? max(0, record.hold.offset - record.hold.start) : 0
        return TaskResult(
            id: record.task.id, name: record.request.name, kind: record.kind, method: record.request.method,
            url: record.request.url, outcome: outcome, status: record.tally.status,
            file: isGood ? record.tally.movedTo : nil, bytes: isGood ? record.tally.delivered : partial,
            wireBytes: record.tally.wireBytes, refetchedBytes: record.tally.refetched, attempts: record.counter.charged,
            held: record.machine.heldTotals, duration: record.tally.firstResumed.map { self.now - $0 } ?? .zero,
            phases: record.tally.phases, failure: failure,
            attribution: outcome == .failure ? record.tally.attribution : nil,
            explanation: isGood ? nil : outcome == .cancelled ? "the task was cancelled" : record.tally.explanation,
            requireUnmet: outcome == .failure ? record.tally.requireUnmet : nil, sha256: record.tally.sha256)
    }
}
