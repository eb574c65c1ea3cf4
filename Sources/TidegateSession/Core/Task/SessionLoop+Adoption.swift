internal import TidegateCore
internal import TidegateTransfer

/// New tasks, and those that nobody has let go yet: their handles are all there is of them.
extension SessionLoop {
    func adopt(_ task: TransferTask) {
        let request = task.request
        self.publish(.created(method: request.method, url: task.board.url), of: task)
        // The session's end and a new task may pass each other on the way here.
        guard !self.isDraining else {
            let record = self.begin(task)
            self.leave(record)
            return self.cancel(record)
        }
        // Only a clock that runs, or the journal, makes something happen to a task that is suspended.
        guard request.expires != nil || task.journaled != nil else { return self.layDown(task) }
        let record = self.begin(task)
        if request.expires != nil {
            self.appointExpiry(record)
            self.settle(record)
        }
        self.takeOver(record)
    }

    /// A task's record, made where it slept; nil once it is over.
    func record(_ number: UInt64) -> TaskRecord? {
        if let record = self.records[number] { return record }
        return self.wake(number).map(self.begin)
    }

    private func layDown(_ task: TransferTask) {
        if let newest = self.newest { self.asleep[newest.number] = newest }
        self.newest = task
    }

    private func wake(_ number: UInt64) -> TransferTask? {
        guard let newest = self.newest, newest.number == number else { return self.asleep.removeValue(forKey: number) }
        self.newest = nil
        return newest
    }

    var hasSleepers: Bool { self.newest != nil || !self.asleep.isEmpty }

    private func begin(_ task: TransferTask) -> TaskRecord {
        let record = TaskRecord(task, self.terms(of: task.request))
        self.records[task.number] = record
        return record
    }

    // Many tasks in a row are often made of one request.
    private func terms(of request: TaskRequest) -> ResolvedPolicies {
        if let latest = self.latestTerms, latest.request.isSame(as: request) { return latest.terms }
        let terms = ResolvedPolicies(request, gate: self.configuration.gate, retry: self.configuration.retry)
        self.latestTerms = (request, terms)
        return terms
    }

    /// Cancels every task: those that sleep, and then those under way, because a slot given back earlier would only
    /// start the next one.
    func cancelAll(_ cancel: (TaskRecord) -> Void) {
        let sleepers = self.asleep.keys.sorted() + (self.newest.map { [$0.number] } ?? [])
        for number in sleepers { self.record(number).map(cancel) }
        let records = self.records.values.sorted { ($0.hasSlot ? 1 : 0, $0.number) < ($1.hasSlot ? 1 : 0, $1.number) }
        for record in records { cancel(record) }
    }
}
