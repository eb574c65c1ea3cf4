internal import TidegateModel
internal import TidegateTransfer

/// Telling those who listen to tasks.
extension SessionCore {
    func tellHead(_ head: ResponseHead, _ record: TaskRecord) {
        let (all, own) = (self.surroundings.hearing?.response, record.task.traits?.hearing.response)
        guard all != nil || own != nil else { return }
        let response = TaskResponse(head, url: record.hop.url.text)
        all?(record.task, response)
        own?(record.task, response)
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
