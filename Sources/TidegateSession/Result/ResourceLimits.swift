internal import TidegateCore
internal import TidegateTransfer

/// Full disks and empty budgets: failures for most tasks, waits for those that must not be lost.
final class ResourceLimits {
    private let driver: TaskDriver
    private let origins: OriginGuard
    private let bodies: TaskBodies
    private let journal: JournalWriter
    private let configuration: SessionConfiguration
    private let random: RandomSource

    init(
        driver: TaskDriver, origins: OriginGuard, bodies: TaskBodies, journal: JournalWriter,
        configuration: SessionConfiguration, random: RandomSource
    ) {
        self.driver = driver
        self.origins = origins
        self.bodies = bodies
        self.journal = journal
        self.configuration = configuration
        self.random = random
    }

    /// True if the task waits rather than fails when something of this host's is used up.
    func areWaitedOut(by record: TaskRecord) -> Bool { self.configuration.waitsOut || record.journal != nil }

    /// The disk is full: what cannot be continued is removed from it, and the task tries again later.
    func waitForDisk(_ record: TaskRecord, _ message: String) {
        if record.download.partial.resumePoint == nil, let file = record.download.file {
            record.download.partial.startOver()
            // A file that cannot be cut is written from its start.
            try? file.truncate(to: 0)
        }
        record.resetRedirects()
        self.scheduleRecheck(record)
        self.driver.feed(.attemptHolds(.disk, detail: message), to: record)
    }

    /// The body is here, and there is no room to commit its file: it waits for some.
    func waitForRoom(_ record: TaskRecord, _ error: FileError) {
        record.download.commit = nil
        // What fsync(2) could not write may be gone from memory, too, and the next call would not say so.
        let isWhole = error.operation != "fsync"
        if !isWhole { self.bodies.forgetBody(record) }
        self.scheduleRecheck(record)
        self.driver.feed(.commitHolds(.disk, detail: error.description, isWhole: isWhole), to: record)
    }

    private func scheduleRecheck(_ record: TaskRecord) {
        self.driver.schedule(.disk, of: record, after: self.random.lengthened(self.configuration.diskRecheck))
    }

    /// The origin's budget is empty: the retry comes once it can be paid for.
    func waitForBudget(_ record: TaskRecord, price: RetryPrice) {
        record.retry.cost = price
        self.journal.noteAttempt(record, at: self.driver.now)
        record.resetRedirects()
        self.scheduleBudget(record, price)
        self.driver.feed(.attemptHolds(.budget, detail: "the origin's retry budget is used up"), to: record)
    }

    /// The budget may have grown far enough.
    func budgetDue(_ record: TaskRecord) {
        guard let price = record.retry.cost else { return self.driver.feed(.release(.budget), to: record) }
        guard self.origins.controller.pay(price, of: record.origin, at: self.driver.now) else {
            self.scheduleBudget(record, price)
            return self.driver.timers.update(record, at: self.driver.now)
        }
        record.retry.cost = nil
        record.retry.counter.paid(price)
        self.driver.feed(.release(.budget), to: record)
    }

    private func scheduleBudget(_ record: TaskRecord, _ price: RetryPrice) {
        let wait = self.origins.controller.timeToPay(price, of: record.origin, at: self.driver.now)
        self.driver.schedule(.budget, of: record, after: wait)
    }
}
