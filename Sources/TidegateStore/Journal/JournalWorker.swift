internal import GRDB
internal import Synchronization
internal import TidegateCore
internal import TidegateIncidents
internal import TidegateLoop
internal import TidegateSession

/// Writes the journal on its own thread: commits entries that arrive together in one transaction.
final class JournalWorker: LoopHandler {
    enum Command: Sendable {
        case write(JournalWork)
        case find(JournalQuestion, @Sendable (Result<[JournaledTask], JournalError>) -> Void)
        case list(JournalQuestion, @Sendable (Result<[JournaledTaskSummary], JournalError>) -> Void)
        case whenWritable(@Sendable () -> Void)
    }

    private enum Timer: UInt64 { case flush, writeTest, expiry }

    // Every caller waits for the fsync(2) of the whole transaction.
    private static let maxEntriesPerTransaction = 512

    private let loop: Loop
    private let file: JournalFile
    private let lock: DirectoryLock
    private let retention: Journal.Retention
    private let dependencies: Journal.Dependencies
    private var pending: [JournalWork] = []
    // Called once what was written before them can be read.
    private var queries: [() -> Void] = []
    private var isUrgent = false
    private var flushTimer: TimerID?
    private var awaitingWritable: [@Sendable () -> Void] = []

    init(
        loop: Loop, file: JournalFile, lock: DirectoryLock, retention: Journal.Retention,
        dependencies: Journal.Dependencies
    ) {
        self.loop = loop
        self.file = file
        self.lock = lock
        self.retention = retention
        self.dependencies = dependencies
        self.deleteExpired()
    }

    func receive(_ command: Command) {
        switch command {
        case .write(let work):
            self.pending.append(work)
            self.isUrgent = self.isUrgent || work.isUrgent
            if self.pending.count >= JournalWorker.maxEntriesPerTransaction { self.flush() }
        case .find(let query, let completion):
            self.queries.append { [unowned self] in completion(self.read { try TaskRow.all(query, in: $0) }) }
        case .list(let query, let completion):
            self.queries.append { [unowned self] in completion(self.read { try TaskRow.summaries(query, in: $0) }) }
        case .whenWritable(let completion):
            if self.awaitingWritable.isEmpty { self.scheduleWriteTest() }
            self.awaitingWritable.append(completion)
        }
    }

    func timerFired(_ token: UInt64) {
        switch Timer(rawValue: token) {
        case .flush:
            self.flushTimer = nil
            self.flush()
        case .writeTest: self.testWriting()
        case .expiry: self.deleteExpired()
        case nil: break
        }
    }

    func batchEnded() {
        if self.isUrgent || !self.queries.isEmpty { self.flush() }
        for query in exchange(&self.queries, with: []) { query() }
        guard !self.pending.isEmpty, self.flushTimer == nil else { return }
        self.flushTimer = self.loop.schedule(after: self.dependencies.flushDelay, token: Timer.flush.rawValue)
    }

    func stopping() {
        self.flush()
        for completion in self.awaitingWritable { completion() }
    }

    // MARK: - Writing

    private func flush() {
        let work = exchange(&self.pending, with: [])
        self.isUrgent = false
        guard !work.isEmpty else { return }
        guard self.file.isInPlace else { return self.fail(work, self.removed) }
        do {
            try self.commit(work)
        } catch {
            // One entry that cannot be written must not make the others fail.
            guard work.count > 1 else { return self.fail(work, error) }
            for single in work {
                do {
                    try self.commit([single])
                } catch {
                    self.fail([single], error)
                }
            }
        }
    }

    private func commit(_ work: [JournalWork]) throws {
        let names = work.map(\.name)
        let (start, wall) = (self.dependencies.time.monotonic(), self.dependencies.time.wall())
        self.dependencies.onCommit(.before(names))
        let (applied, progress) = try self.file.queue.write { database in
            let applied = try work.map { try $0.apply(to: database, at: wall) }
            return (applied, try JournalProgress.add(tasks: applied.count { $0.isNew }, to: database))
        }
        self.lock.markJournal(progress)
        self.file.openTasks.value.wrappingAdd(applied.reduce(0) { $0 + $1.openTasks }, ordering: .relaxed)
        self.dependencies.onCommit(.after(names))
        let duration = self.dependencies.time.monotonic() - start
        self.dependencies.onEvent(.committed(entries: work.count, duration: duration))
        for single in applied { single.completion() }
    }

    private func fail(_ work: [JournalWork], _ error: any Error) { self.fail(work, self.journalError(error)) }

    private func fail(_ work: [JournalWork], _ error: JournalError) {
        self.dependencies.onEvent(.failed(error.reason, entries: work.count))
        for single in work { single.fail(error) }
    }

    private var removed: JournalError {
        JournalError(
            .removed,
            "the journal \(self.file.path) or its write-ahead log was removed or replaced, so that a restart would lose the "
                + "task: put the file back, or restart the daemon to begin with the journal that is there")
    }

    private func journalError(_ error: any Error) -> JournalError {
        let known = error as? DatabaseError
        guard !(known?.isFullDisk(at: self.file.path) ?? false) else {
            return JournalError(.diskFull, "the disk of the journal \(self.file.path) is full")
        }
        return JournalError(.disk, "the journal \(self.file.path) cannot be written: \(known?.text ?? "\(error)")")
    }

    // MARK: - Waiting for the disk

    private func scheduleWriteTest() { _ = self.loop.schedule(after: .seconds(1), token: Timer.writeTest.rawValue) }

    private func testWriting() {
        // As large as a typical row: less room would not help.
        let filler = String(repeating: "x", count: 8192)
        let written: Void? = try? self.file.queue.write { database in
            try database.execute(sql: "INSERT INTO path_event (time, text) VALUES (-1, ?)", arguments: [filler])
            try database.execute(sql: "DELETE FROM path_event WHERE time = -1")
        }
        guard written != nil, self.file.isInPlace else { return self.scheduleWriteTest() }
        for completion in exchange(&self.awaitingWritable, with: []) { completion() }
    }

    // MARK: - Reading and deleting

    private func read<Value>(_ body: (Database) throws -> Value) -> Result<Value, JournalError> {
        Result { try self.file.queue.read(body) }
            .mapError { JournalError(.disk, "the journal \(self.file.path) cannot be read: \($0)") }
    }

    private func deleteExpired() {
        let now = self.dependencies.time.wall().microseconds
        let completed = now - self.retention.completed.wholeNanoseconds / 1000
        let pathEvents = now - self.retention.pathEvents.wholeNanoseconds / 1000
        let incidents = now - self.retention.incidents.wholeNanoseconds / 1000
        do {
            try self.file.queue.write { database in
                try database.execute(sql: "DELETE FROM task WHERE ended < ?", arguments: [completed])
                for table in ["path_event", "probe"] {
                    try database.execute(sql: "DELETE FROM \(table) WHERE time < ?", arguments: [pathEvents])
                }
                try IncidentRow.expire(before: incidents, in: database)
            }
        } catch {
            self.dependencies.onEvent(.failed(self.journalError(error).reason, entries: 0))
        }
        _ = self.loop.schedule(after: .seconds(600), token: Timer.expiry.rawValue)
    }
}

/// Something to write, with the completion to call once it is durable.
enum JournalWork: Sendable {
    case accept(JournaledTask, DuplicatePolicy, @Sendable (Result<Acceptance, JournalError>) -> Void)
    case entry(JournalEntry, @Sendable (Result<Void, JournalError>) -> Void)
    case pathEvent(WallTime, String)
    /// The latest text, by identity.
    case text(KeptTable, String, String)
    case incidents([IncidentChange], @Sendable (_ isWritten: Bool) -> Void)

    /// The consequences of a durable transaction.
    ///
    /// How many more tasks are not over, whether it accepted one, and what reports success to the caller.
    typealias Applied = (openTasks: Int, isNew: Bool, completion: @Sendable () -> Void)

    /// True if a caller waits for it.
    var isUrgent: Bool {
        switch self {
        case .accept: true
        case .entry(let entry, _): entry.isUrgent
        case .pathEvent, .text, .incidents: false
        }
    }

    /// The kind, with the names of ``Journal/CommitPhase``.
    var name: String {
        switch self {
        case .accept: "accepted"
        case .pathEvent: "pathEvent"
        case .text(let table, _, _): table.rawValue
        case .incidents: "incidents"
        case .entry(let entry, _):
            switch entry {
            case .suspensions: "suspensions"
            case .sending: "sending"
            case .notSent: "notSent"
            case .tried: "tried"
            case .held: "held"
            case .placing: "placing"
            case .ended: "ended"
            }
        }
    }

    /// Writes it inside a transaction.
    func apply(to database: Database, at now: WallTime) throws -> Applied {
        switch self {
        case .accept(let task, let policy, let completion):
            let acceptance = try JournalWork.accept(task, policy, at: now, in: database)
            var (change, isNew) = (0, false)
            if case .accepted(_, let replaced) = acceptance { (change, isNew) = (1 - replaced.count, true) }
            return (change, isNew, { completion(.success(acceptance)) })
        case .entry(let entry, let completion):
            let isChanged = try TaskRow.apply(entry, to: database)
            var isEnd = false
            if case .ended = entry { isEnd = true }
            return (isEnd && isChanged ? -1 : 0, false, { completion(.success(())) })
        case .pathEvent(let time, let text):
            let statement = try database.cachedStatement(sql: "INSERT INTO path_event (time, text) VALUES (?, ?)")
            try statement.execute(arguments: [time.microseconds, text])
            return (0, false, {})
        case .incidents(let changes, let completion):
            for change in changes { try change.apply(to: database) }
            return (0, false, { completion(true) })
        case .text(let table, let identity, let text):
            let statement = try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO \(table) (identity, time, text) VALUES (?, ?, ?)")
            try statement.execute(arguments: [identity, now.microseconds, text])
            return (0, false, {})
        }
    }

    /// Reports that it could not be written.
    func fail(_ error: JournalError) {
        switch self {
        case .accept(_, _, let completion): completion(.failure(error))
        case .entry(_, let completion): completion(.failure(error))
        case .incidents(_, let completion): completion(false)
        case .pathEvent, .text: break
        }
    }

    private static func accept(
        _ task: JournaledTask, _ policy: DuplicatePolicy, at now: WallTime, in database: Database
    ) throws -> Acceptance {
        var task = task
        var replaced: [TaskID] = []
        if let key = task.description.key {
            switch policy {
            case .keep:
                let known = try TaskRow.ids(where: "key = ? ORDER BY id DESC LIMIT 1", [key], in: database)
                if let known = known.first { return .kept(known) }
            case .replace, .append:
                let unfinished = try TaskRow.ids(where: "key = ? AND outcome IS NULL ORDER BY id", [key], in: database)
                // Also for a replaced task, which may still have the same file open until it ends.
                task.predecessor = unfinished.last
                if policy == .replace { replaced = unfinished }
            }
        }
        for id in replaced {
            var end = JournaledEnd(.cancelled, at: now)
            (end.failure, end.explanation) = (.cancelled, "replaced by the task \(task.id)")
            _ = try TaskRow.finish(id.description, end, database)
        }
        try TaskRow.insert(task, into: database)
        return .accepted(task, replacing: replaced)
    }
}
