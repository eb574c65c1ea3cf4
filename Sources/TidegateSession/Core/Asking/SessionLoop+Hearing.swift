internal import TidegateCore
internal import TidegateTransfer

/// Telling those who listen to tasks.
extension SessionLoop {
    func tellHead(_ head: ResponseHead, _ record: TaskRecord) {
        let (all, own) = (self.surroundings.hearing?.response, record.task.traits?.hearing.response)
        guard all != nil || own != nil else { return }
        let response = TaskResponse(head, url: record.hop.url.text)
        all?(record.task, response)
        own?(record.task, response)
    }

    /// Who is shown the body of an attempt that begins, besides wherever it goes; nil is nobody.
    func bodyListener(of record: TaskRecord) -> (any ChunkSink)? {
        let digest = record.request.sha256 != nil ? self.digest(of: record) : nil
        let hearings = [self.surroundings.hearing, record.task.traits?.hearing]
        guard hearings.contains(where: { $0?.data != nil }) else { return digest }
        if case .file = record.destination { return digest }
        let (line, number) = (self.surroundings.line, record.number)
        let hearing = BodyObserver(digest: digest) { line.send(.bodyCame(number)) }
        record.extra.bodyHearing = hearing
        return hearing
    }

    /// Tells the bytes that have come since the last time.
    func tellData(_ record: TaskRecord) {
        guard let extras = record.extras, let hearing = extras.bodyHearing else { return }
        let (all, own) = (self.surroundings.hearing?.data, record.task.traits?.hearing.data)
        for chunk in hearing.takeAll() {
            all?(record.task, extras.heardOffset, chunk)
            own?(record.task, extras.heardOffset, chunk)
            extras.heardOffset += Int64(chunk.count)
        }
    }

    func tellHearers(_ record: TaskRecord) {
        let (all, own) = (self.surroundings.hearing?.progress, record.task.traits?.hearing.progress)
        guard all != nil || own != nil else { return }
        let progress = record.progress
        all?(record.task, progress)
        own?(record.task, progress)
    }

    func tellEnd(_ result: TaskResult, _ record: TaskRecord) {
        self.surroundings.hearing?.completion?(record.task, result)
        record.task.traits?.hearing.completion?(record.task, result)
    }

    // MARK: - Handlers elsewhere

    /// True where a handler elsewhere has to return before the end is told; starts it the first time.
    func waitsForHandler(_ record: TaskRecord, _ result: TaskResult) -> Bool {
        guard let call = record.task.traits?.call else { return false }
        guard record.extras?.isHeard != true else {
            call.run(record.task, result)
            return false
        }
        let (line, number) = (self.surroundings.line, record.number)
        call.run(record.task, result) { line.send(.heard(number)) }
        return true
    }

    func heard(_ number: UInt64) {
        guard let record = self.records[number] else { return }
        self.stopWaitingForHandler(record)
        self.publishEnd(of: record)
    }

    func stopWaitingForHandler(_ record: TaskRecord) {
        if record.task.traits?.call != nil { record.extra.isHeard = true }
    }
}
