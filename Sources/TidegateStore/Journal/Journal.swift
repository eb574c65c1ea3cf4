internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import TidegateLoop
public import TidegateCore
public import TidegateSession

/// Keeps accepted tasks in a SQLite file, so that they survive `kill -9`, a crash and a power cut.
///
/// Give one to a session, or to a monitor, and hand tasks in with ``Session/submit(_:key:onDuplicate:isSuspended:options:)``:
/// ```swift
/// let journal = try Journal(directory: "/var/lib/example")
/// let monitor = try Monitor(journal: journal.tasks)
/// try await monitor.session.restore()        // continues what an earlier process left
/// let task = try await monitor.session.submit(request, key: "nightly-backup")
/// …
/// await monitor.stop()
/// journal.close()
/// ```
/// A directory belongs to one process at a time. A thread of the journal's own writes the file; entries that arrive
/// while a transaction is being written share the next one.
public final class Journal: JournalStorage {
    /// How long the journal keeps what is over.
    public struct Retention: Sendable, Hashable {
        /// Finished tasks; a day by default.
        public var completed: Duration
        /// The status page's history: changes of paths and links, and what became of requests; a week by default.
        package var pathEvents = Duration.seconds(7 * 86_400)

        /// A retention; without arguments the default one.
        public init(completed: Duration = .seconds(86_400)) { self.completed = completed }
    }

    /// What a journal needs from its surroundings.
    package struct Dependencies: Sendable {
        let boot: String
        let time: any TimeSource
        /// How long entries that nothing waits for are collected before they are written.
        package var flushDelay = Duration.milliseconds(500)
        /// How often the bytes of a download are made durable.
        package var checkpointInterval = Duration.seconds(1)
        let onEvent: @Sendable (JournalEvent) -> Void
        let onCommit: @Sendable (CommitPhase) -> Void

        /// `boot` names this boot of the machine; `onEvent` is called after every transaction and `onCommit` before and
        /// after it, both on the journal's thread.
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

        // The kernel's random id: moments on the monotonic clock compare only within one boot. If it cannot be read it
        // is empty, and then moments compare by the wall clock.
        private static var currentBoot: String {
            let bytes = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") ?? Data()
            return String(decoding: bytes.prefix { $0 > 32 }, as: UTF8.self)
        }
    }

    /// A side of a transaction, with the kinds of the entries in it, in their order.
    package enum CommitPhase: Sendable, Hashable {
        /// None of the entries is durable yet.
        case before([String])
        /// All entries are durable, and no completion has been called.
        case after([String])
    }

    /// The kernel's id of this boot of the machine.
    package let boot: String
    /// How often the bytes of a download are made durable.
    package let checkpointInterval: Duration
    /// Keeps the tasks of the session or the monitor that is made with it.
    public var tasks: TaskJournal { TaskJournal(self) }
    /// How many unfinished tasks there were when the journal was opened.
    public let unfinished: Int
    /// Why tasks could not be read when the journal was opened, each with its id; their rows are kept in the table
    /// `unreadable_task`.
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

    /// True if a directory has a journal, in which tasks may wait.
    package static func exists(in directory: String) -> Bool { access(JournalFile.path(in: directory), F_OK) == 0 }

    /// Opens the journal of a directory, which is created if it is missing, and reserves it for this process.
    ///
    /// Blocks for the disk. Events of the journal are published on `bus`: pass the bus of the monitor, so that its
    /// metrics count them.
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
        // A journal that was moved away begins anew.
        let isKnown = Journal.exists(in: directory)
        let file = try JournalFile(directory: directory)
        self.file = Mutex(file)
        self.path = file.path
        let (progress, written) = (try file.progress(), self.lock.written)
        self.lost = written.flatMap { isKnown && $0.commits > progress.commits ? .lost($0, since: progress) : nil }
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

    /// Writes what was handed in so far, ends the thread and lets other processes open the directory; later entries
    /// fail as `closed`.
    public func close() {
        self.thread.stop()
        self.file.withLock { $0 = nil }
        self.lock.release()
    }

    /// Adds a task; sessions call it, and `completion` comes once the task is durable.
    package func accept(
        _ task: JournaledTask, onDuplicate: DuplicatePolicy,
        completion: @escaping @Sendable (Result<Acceptance, JournalError>) -> Void
    ) {
        let isSent = self.thread.send(.write(.accept(task, onDuplicate, completion)))
        if !isSent { completion(.failure(.closed)) }
    }

    /// Writes an entry; sessions call it, and `completion` comes once the entry is durable.
    package func record(_ entry: JournalEntry, completion: @escaping @Sendable (Result<Void, JournalError>) -> Void) {
        if !self.thread.send(.write(.entry(entry, completion))) { completion(.failure(.closed)) }
    }

    /// Finds tasks; ``Session/find(_:)`` is its `async` form.
    package func find(
        _ question: JournalQuestion,
        completion: @escaping @Sendable (Result<[JournaledTask], JournalError>) -> Void
    ) {
        if !self.thread.send(.find(question, completion)) { completion(.failure(.closed)) }
    }

    /// Finds tasks for a list; ``Session/list(_:)`` is its `async` form.
    package func list(
        _ question: JournalQuestion,
        completion: @escaping @Sendable (Result<[JournaledTaskSummary], JournalError>) -> Void
    ) {
        if !self.thread.send(.list(question, completion)) { completion(.failure(.closed)) }
    }

    /// Calls back when entries can be written again after a failure, and when the journal is closed.
    package func whenWritable(_ completion: @escaping @Sendable () -> Void) {
        // A closed journal will never be writable: the caller must not wait forever.
        if !self.thread.send(.whenWritable(completion)) { completion() }
    }

    /// Keeps an entry of the status page's history; if it cannot be written it is lost.
    package func recordHistory(at time: WallTime, _ text: String) { self.thread.send(.write(.pathEvent(time, text))) }

    /// Keeps what is known of a scheduled probe, in place of what was kept before; if it cannot be written it is lost.
    package func recordProbe(_ identity: String, _ past: ScheduledProbeReport.Past) {
        guard let text = try? JSONEncoder().encode(past) else { return }
        self.thread.send(.write(.probe(identity, String(decoding: text, as: UTF8.self))))
    }

    /// What is kept of each scheduled probe, by its identity; none if it cannot be read.
    ///
    /// Blocks for the disk.
    package var probes: [String: ScheduledProbeReport.Past] {
        (self.file.withLock { $0 }?.probes ?? [:]).compactMapValues {
            try? JSONDecoder().decode(ScheduledProbeReport.Past.self, from: Data($0.utf8))
        }
    }

    /// The newest entries of the status page's history, the oldest first; none if they cannot be read.
    ///
    /// Blocks for the disk.
    package func history(newest limit: Int) -> [String] { self.file.withLock { $0 }?.history(newest: limit) ?? [] }
}

extension JournalEvent {
    fileprivate static func lost(_ written: JournalProgress, since found: JournalProgress) -> JournalEvent {
        .lost(transactions: written.commits - found.commits, tasks: max(0, written.tasks - found.tasks))
    }
}

extension JournalError {
    static let closed = JournalError(.closed, "the journal is closed")
}
