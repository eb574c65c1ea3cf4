internal import FoundationEssentials
internal import GRDB
internal import Glibc
internal import Synchronization
internal import TidegateLoop
public import TidegateCore
public import TidegateIncidents
public import TidegateSession

/// Keeps accepted tasks in a SQLite file, so that they survive `kill -9`, a crash and a power cut.
///
/// Pass one to a session or a monitor, and submit tasks with
/// ``Session/submit(_:key:onDuplicate:isSuspended:options:)``:
/// ```swift
/// let journal = try Journal(directory: "/var/lib/example")
/// let monitor = try Monitor(journal: journal.tasks)
/// try await monitor.session.restore()        // continues what an earlier process left
/// let task = try await monitor.session.submit(request, key: "nightly-backup")
/// …
/// await monitor.stop()
/// journal.close()
/// ```
/// A directory belongs to one process at a time. The journal's own thread writes the file; entries that arrive during a
/// transaction share the next one.
public final class Journal: JournalStorage, IncidentJournal {
    /// How long the journal keeps finished tasks and history.
    public struct Retention: Sendable, Hashable {
        /// Finished tasks; a day by default.
        public var completed: Duration
        /// The status page's history: path and link changes, and the results of requests; a week by default.
        package var pathEvents = Duration.seconds(7 * 86_400)

        /// Incidents and the times that Tidegate watched; three years by default.
        package var incidents = Duration.seconds(3 * 366 * 86_400)

        /// A retention; the default is a day for finished tasks.
        public init(completed: Duration = .seconds(86_400)) { self.completed = completed }
    }

    /// What a journal needs from its surroundings.
    package struct Dependencies: Sendable {
        let boot: String
        let time: any TimeSource
        /// How long entries without a waiting caller are collected before they are written.
        package var flushDelay = Duration.milliseconds(500)
        /// How often the bytes of a download are made durable.
        package var checkpointInterval = Duration.seconds(1)
        let onEvent: @Sendable (JournalEvent) -> Void
        let onCommit: @Sendable (CommitPhase) -> Void

        /// `boot` identifies this boot of the machine.
        ///
        /// `onEvent` is called after every transaction, and `onCommit` before and after it, both on the journal's
        /// thread.
        package init(
            boot: String? = nil, time: any TimeSource,
            onEvent: @escaping @Sendable (JournalEvent) -> Void = { _ in },
            onCommit: @escaping @Sendable (CommitPhase) -> Void = { _ in }
        ) {
            self.boot = boot ?? Dependencies.currentBoot
            self.time = time
            self.onEvent = onEvent
            self.onCommit = onCommit
        }

        // The kernel's random id: monotonic times are comparable only within one boot. If it cannot be read it is
        // empty, and times are compared by the wall clock.
        private static var currentBoot: String {
            let bytes = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") ?? Data()
            return String(decoding: bytes.prefix { $0 > 32 }, as: UTF8.self)
        }
    }

    /// A phase of a commit, with the kinds of its entries in order.
    package enum CommitPhase: Sendable, Hashable {
        /// None of the entries is durable yet.
        case before([String])
        /// All entries are durable, but no completion has been called.
        case after([String])
    }

    /// The kernel's id of this boot of the machine.
    package let boot: String
    /// How often the bytes of a download are made durable.
    package let checkpointInterval: Duration
    /// The storage for the tasks of the session or monitor made with it.
    public var tasks: TaskJournal { TaskJournal(self) }
    /// The number of unfinished tasks when the journal was opened.
    public let unfinished: Int
    /// Why tasks could not be read when the journal was opened, each with its id.
    ///
    /// Their rows are kept in the table `unreadable_task`.
    package let setAside: [String]
    /// The copy of the file that was made before damaged rows and indexes were repaired; nil if nothing was.
    package let copyBeforeRepair: String?
    /// How many tasks are not over.
    package var openTasks: Int { self.openTaskCount.value.load(ordering: .relaxed) }
    private let openTaskCount: OpenTaskCount
    /// What was durable when the directory was last used and is missing; nil if nothing is.
    package let lost: JournalEvent?
    // Nil once the journal is closed, so that its connection is closed, too.
    private let file: Mutex<JournalFile?>
    /// The SQLite file.
    let path: String
    private let lock: DirectoryLock
    private let thread: LoopThread<JournalWorker>

    /// True if a directory has a journal, which may contain waiting tasks.
    package static func exists(in directory: String) -> Bool { access(JournalFile.path(in: directory), F_OK) == 0 }

    /// Opens the journal of a directory and locks the directory for this process; a missing directory is created.
    ///
    /// Blocks for the disk. Events of the journal are published on `bus`; pass the monitor's bus, so that its metrics
    /// count them.
    /// - Throws: ``JournalOpenError``; a damaged file is not changed.
    public convenience init(
        directory: String, retention: Retention = Retention(), bus: EventBus? = nil
    ) throws(JournalOpenError) {
        try self.init(
            directory: directory, retention: retention,
            dependencies: Dependencies(time: SystemClock(), onEvent: { bus?.publish(.daemon(.journal($0))) }))
    }

    package init(
        directory: String, retention: Retention = Retention(), dependencies: Dependencies
    ) throws(JournalOpenError) {
        self.boot = dependencies.boot
        self.checkpointInterval = dependencies.checkpointInterval
        self.lock = try DirectoryLock(directory)
        if self.lock.hadJournal { try JournalFile.checkNotEmptied(in: directory) }
        let file = try JournalFile(directory: directory)
        self.file = Mutex(file)
        self.path = file.path
        let (progress, written) = (try file.progress(), self.lock.written)
        let (commits, tasks) = written.map { ($0.commits - progress.commits, $0.tasks - progress.tasks) } ?? (0, 0)
        self.lost = commits > 0 ? .lost(transactions: commits, tasks: max(0, tasks)) : nil
        if self.lost != nil { try file.doubtUnfinished() }
        (self.setAside, self.copyBeforeRepair) = try file.repair(at: dependencies.time.wall())
        self.unfinished = try file.countUnfinished()
        self.openTaskCount = file.openTasks
        let lock = self.lock
        lock.markJournal(progress)
        do {
            self.thread = try LoopThread(name: "tg-journal") { loop in
                JournalWorker(loop: loop, file: file, lock: lock, retention: retention, dependencies: dependencies)
            }
        } catch {
            throw .unusable(directory, "\(error)")
        }
    }

    /// Writes all entries received so far, ends the thread, and unlocks the directory.
    ///
    /// Later entries fail as `closed`.
    public func close() {
        // The last connection moves the log into the file, which this one cannot.
        try? self.file.withLock { $0 }?.reader.close()
        self.thread.stop()
        self.file.withLock { $0 = nil }
        self.lock.release()
    }

    /// Adds a task of a session; calls `completion` once the task is durable.
    package func accept(
        _ task: JournaledTask, onDuplicate: DuplicatePolicy,
        completion: @escaping @Sendable (Result<Acceptance, JournalError>) -> Void
    ) {
        let isSent = self.thread.send(.write(.accept(task, onDuplicate, completion)))
        if !isSent { completion(.failure(.closed)) }
    }

    /// Writes an entry of a session; calls `completion` once the entry is durable.
    package func record(_ entry: JournalEntry, completion: @escaping @Sendable (Result<Void, JournalError>) -> Void) {
        if !self.thread.send(.write(.entry(entry, completion))) { completion(.failure(.closed)) }
    }

    /// Finds tasks; the `async` form is ``Session/find(_:)``.
    package func find(
        _ question: JournalQuestion,
        completion: @escaping @Sendable (Result<[JournaledTask], JournalError>) -> Void
    ) {
        if !self.thread.send(.find(question, completion)) { completion(.failure(.closed)) }
    }

    /// Lists tasks; the `async` form is ``Session/list(_:)``.
    package func list(
        _ question: JournalQuestion,
        completion: @escaping @Sendable (Result<[JournaledTaskSummary], JournalError>) -> Void
    ) {
        if !self.thread.send(.list(question, completion)) { completion(.failure(.closed)) }
    }

    /// Calls back when entries can be written again after a failure, or when the journal is closed.
    package func whenWritable(_ completion: @escaping @Sendable () -> Void) {
        // A closed journal never becomes writable, so the caller must not wait.
        if !self.thread.send(.whenWritable(completion)) { completion() }
    }

    /// Stores an entry of the status page's history; if it cannot be written, it is lost.
    package func recordHistory(at time: WallTime, _ text: String) { self.thread.send(.write(.pathEvent(time, text))) }

    /// Replaces the stored results of a scheduled probe; if they cannot be written, they are lost.
    package func recordProbe(_ identity: String, _ past: ScheduledProbeReport.Past) {
        guard let text = try? JSONEncoder().encode(past) else { return }
        self.thread.send(.write(.text(.probe, identity, String(decoding: text, as: UTF8.self))))
    }

    /// Replaces what is usual on this host's networks; if it cannot be written, it is lost.
    package func recordNormals(_ normals: QualityNormals) {
        self.thread.send(.write(.text(.quality, Self.normals, "\(normals.json)")))
    }

    /// What was usual on this host's networks until `now`; empty without a record.
    ///
    /// Blocks for the disk.
    /// - Throws: ``TextError`` if the record is damaged.
    package func normals(at now: WallTime) throws(TextError) -> QualityNormals {
        guard let text = self.file.withLock({ $0 })?.texts(in: .quality)[Self.normals] else { return QualityNormals() }
        guard let normals = (try? JSONValue(parsing: text.utf8)).flatMap({ QualityNormals($0, at: now) }) else {
            throw TextError("the table quality of \(self.path) is damaged")
        }
        return normals
    }

    private static let normals = "normals"

    /// Stores changes of incidents in one transaction; tells `completion` whether they are durable.
    package func record(_ changes: [IncidentChange], _ completion: @escaping @Sendable (_ isWritten: Bool) -> Void) {
        self.thread.send(.write(.incidents(changes, completion)))
    }

    /// The incidents that an earlier process left open, and when it last watched; nothing if they cannot be read.
    ///
    /// Blocks for the disk.
    package func leftIncidents() -> (incidents: [Incident], lastBeat: WallTime?) {
        guard let file = self.file.withLock({ $0 }) else { return ([], nil) }
        return (try? file.queue.read { try IncidentRow.left(in: $0) }) ?? ([], nil)
    }

    /// Reads incidents and coverage, with what is `newer`.
    ///
    /// - Throws: ``TextError`` if the journal is closed or cannot be read.
    package func incidents(
        _ question: IncidentQuestion, at now: WallTime, newer: IncidentsNow
    ) async throws(TextError) -> IncidentAnswer {
        guard let file = self.file.withLock({ $0 }) else { throw TextError("the journal is closed") }
        return try await IncidentRow.answer(question, at: now, newer: newer, from: file.reader, path: file.path)
    }

    /// The stored results of each scheduled probe, by identity; empty if they cannot be read.
    ///
    /// Blocks for the disk.
    package var probes: [String: ScheduledProbeReport.Past] {
        (self.file.withLock { $0 }?.texts(in: .probe) ?? [:]).compactMapValues {
            try? JSONDecoder().decode(ScheduledProbeReport.Past.self, from: Data($0.utf8))
        }
    }

    /// The newest entries of the status page's history, oldest first; empty if they cannot be read.
    ///
    /// Blocks for the disk.
    package func history(newest limit: Int) -> [String] { self.file.withLock { $0 }?.history(newest: limit) ?? [] }
}

extension JournalError {
    static let closed = JournalError(.closed, "the journal is closed")
}
