internal import TidegateCore
internal import TidegateTransfer

/// What concerns a session as a whole: its reset, and its end.
///
/// At the end tasks are let finish or are cancelled, and who waits for that is called when none is left.
final class SessionLifecycle {
    /// How long the disk may take to finish when the tasks are cancelled.
    private static let diskPatience = Duration.seconds(5)

    private let engine: TransferEngine
    private let driver: TaskDriver
    private let table: TaskTable
    private let commands: TaskCommands
    private let finisher: TaskFinisher
    private let pool: PoolGeneration
    private let given: SessionDependencies
    private(set) var isUnderWay = false
    /// True if tasks are cancelled, those too that are still on their way here.
    private var isCancelling = false
    /// Called once no task is left.
    private var done: [@Sendable () -> Void] = []

    init(
        engine: TransferEngine, driver: TaskDriver, table: TaskTable, commands: TaskCommands, finisher: TaskFinisher, pool: PoolGeneration,
        given: SessionDependencies
    ) {
        self.engine = engine
        self.driver = driver
        self.table = table
        self.commands = commands
        self.finisher = finisher
        self.pool = pool
        self.given = given
    }

    // MARK: - Reset

    func reset(_ done: @escaping @Sendable () -> Void) {
        self.given.configuration.cookies?.removeAll()
        self.pool.reset()
        guard let store = self.given.configuration.validators else { return done() }
        let isStarted = self.given.disk.perform {
            () throws(FileError) -> Void in
            store.removeAll()
        } completion: { _ in
            done()
        }
        if !isStarted { done() }
    }

    // MARK: - The end

    func begin(cancellingTasks: Bool, _ done: @escaping @Sendable () -> Void) {
        self.isUnderWay = true
        self.done.append(done)
        guard cancellingTasks else { return }
        self.isCancelling = true
        for record in self.table.inOrderOfCancellation { self.cancel(record) }
        // A disk that does not answer is not waited for without end.
        _ = self.engine.schedule(after: SessionLifecycle.diskPatience, token: SessionTimer.disk.token)
    }

    /// Cancels a task that passed the session's end on its way here; false if the session has not ended.
    func cancelsLate(_ record: TaskRecord) -> Bool {
        guard self.isCancelling, !record.machine.isOver else { return false }
        self.cancel(record)
        return true
    }

    private func cancel(_ record: TaskRecord) {
        self.commands.preserve(record)
        self.commands.cancel(record)
    }

    /// Calls who waits, if no task is left.
    func finishIfEmpty() {
        guard self.isUnderWay, !self.done.isEmpty, self.table.isEmpty else { return }
        let done = self.done
        self.done = []
        for call in done { call() }
    }

    /// The disk has had its time.
    func abandonDisk() {
        if !self.table.hasNoRecords { self.table.registry.noteStuckDisk() }
        for record in self.table.all { self.finisher.abandon(record) }
    }

    /// The thread stops: a caller that waits for a task must not wait for ever because its session was dropped.
    func abandonAll() {
        for record in self.table.inOrderOfCancellation { self.cancel(record) }
        self.driver.drain()
        for record in self.table.all { self.finisher.abandon(record) }
    }
}
