internal import TidegateCore
internal import TidegateTransfer

/// Full disks and empty budgets: failures for whoever is in a hurry, waits for tasks that must not be lost.
extension SessionLoop {
    /// True where the task waits rather than fails when something of this host's is used up.
    func waitsOut(_ record: TaskRecord) -> Bool { self.configuration.waitsOut || record.journal != nil }

    /// The disk is full: what cannot be continued is given back to it, and the task looks again later.
    func waitForDisk(_ record: TaskRecord, _ words: String) {
        if record.hold.resumePoint == nil, let file = record.file {
            record.hold.startOver()
            // A file that cannot be cut is written from its start.
            try? file.truncate(to: 0)
        }
        self.backToTheStart(record)
        record.clocks.appoint(.disk, at: self.now + self.spread(self.configuration.diskRecheck))
        self.feed(.attemptHolds(.disk, detail: words), to: record)
    }

    /// The body is here, and there is no room to put its file in its place: it waits for some, as it is.
    func waitForRoom(_ record: TaskRecord, _ error: FileError) {
        record.placement = nil
        // What fsync(2) could not write may be gone from memory, too, and the next call would not say so.
        let isWhole = error.operation != "fsync"
        if !isWhole { self.forgetBody(record) }
        record.clocks.appoint(.disk, at: self.now + self.spread(self.configuration.diskRecheck))
        self.feed(.commitHolds(.disk, detail: error.description, isWhole: isWhole), to: record)
    }

    /// The origin's budget is empty: the retry comes once it can be paid for.
    func waitForBudget(_ record: TaskRecord, price: RetryPrice) {
        record.owes = price
        self.noteTry(record)
        self.backToTheStart(record)
        record.clocks.appoint(.budget, at: self.now + self.timeToPay(price, record))
        self.feed(.attemptHolds(.budget, detail: "the origin's retry budget is used up"), to: record)
    }

    /// The budget may have grown far enough.
    func budgetDue(_ record: TaskRecord) {
        guard let price = record.owes else { return self.feed(.release(.budget), to: record) }
        let now = self.now
        guard self.withBudget(of: record, { $0.pay(price, at: now) }) else {
            record.clocks.appoint(.budget, at: now + self.timeToPay(price, record))
            return self.rearm(record)
        }
        record.owes = nil
        record.counter.paid(price)
        self.feed(.release(.budget), to: record)
    }

    private func timeToPay(_ price: RetryPrice, _ record: TaskRecord) -> Duration {
        let now = self.now
        let wait = self.withBudget(of: record) { $0.timeToPay(price, at: now) }
        return max(.milliseconds(100), self.spread(min(wait, .seconds(60))))
    }

    private func spread(_ wait: Duration) -> Duration {
        wait + self.surroundings.dice.roll { Backoff.random(upTo: wait / 10, using: &$0) }
    }
}
