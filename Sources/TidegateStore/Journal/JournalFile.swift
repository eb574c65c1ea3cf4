internal import GRDB
internal import Glibc
internal import Synchronization
internal import TidegateCore

/// The journal's SQLite file.
struct JournalFile: Sendable {
    let path: String
    let queue: DatabaseQueue
    /// A connection for incidents: reading many must not hold what has to be written.
    let reader: DatabaseQueue
    /// How many tasks are not over.
    let openTasks = OpenTaskCount()
    /// The devices and inodes of the file and its log when they were opened.
    private let identities: [[UInt64]]

    /// Opens or creates `journal.sqlite` in a directory; `migrator` has the versions of its tables.
    init(directory: String, migrator: DatabaseMigrator = JournalSchema.migrator) throws(JournalOpenError) {
        self.path = JournalFile.path(in: directory)
        self.queue = try DurableDatabase.open(
            self.path, migrator: migrator, pragmas: ["secure_delete = ON"], checksEveryPage: true)
        self.reader = try DurableDatabase.reader(self.path)
        self.identities = JournalFile.identities(of: self.path)
    }

    /// False if the file or its write-ahead log was removed or replaced: the next process would not see what is written.
    var isInPlace: Bool { self.identities == JournalFile.identities(of: self.path) }

    // Empty for a missing file.
    private static func identities(of path: String) -> [[UInt64]] {
        [path, "\(path)-wal"].map { path in
            var status = stat()
            return lstat(path, &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : []
        }
    }

    /// The path of a directory's journal.
    static func path(in directory: String) -> String { "\(directory)/journal.sqlite" }

    /// Throws if the file exists but is empty; a file that was removed is created anew.
    ///
    /// The log of a removed file is kept beside it, because SQLite would delete it.
    static func checkNotEmptied(in directory: String) throws(JournalOpenError) {
        let path = self.path(in: directory)
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { rename("\(path)-wal", "\(path)-wal.lost") }
            return
        }
        guard status.st_size == 0 else { return }
        throw .damaged(path, "it is empty, and was not when it was last used")
    }

    /// Moves tasks that cannot be read to a table of their own, so that the others go on; returns why, and where a copy of
    /// the file from before is.
    func repair(at now: WallTime) throws(JournalOpenError) -> (reasons: [String], copy: String?) {
        try self.access { queue in
            // An index that does not fit its table leads to other rows than the table has.
            let isWhole = try queue.read { database in
                let isIndexed = try String.fetchAll(database, sql: "PRAGMA integrity_check(task)") == ["ok"]
                return try isIndexed && TaskRow.unreadable(in: database).isEmpty
            }
            if isWhole { return ([], nil) }
            let copy = "\(self.path).damaged-\(now.microseconds)"
            try DurableDatabase.copy(queue, to: copy)
            let reasons = try queue.write { database in
                try database.execute(sql: "REINDEX task")
                return try TaskRow.setUnreadableAside(in: database)
            }
            return (reasons, copy)
        }
    }

    /// Marks unfinished tasks as possibly sent: what was written about them may be lost.
    func doubtUnfinished() throws(JournalOpenError) {
        try self.access { queue in
            try queue.write { try $0.execute(sql: "UPDATE task SET in_doubt = 1 WHERE outcome IS NULL") }
        }
    }

    /// Counts the unfinished tasks.
    func countUnfinished() throws(JournalOpenError) -> Int {
        let count = try self.access { queue in
            try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM task WHERE outcome IS NULL") ?? 0 }
        }
        self.openTasks.value.store(count, ordering: .relaxed)
        return count
    }

    /// What all transactions made durable.
    func progress() throws(JournalOpenError) -> JournalProgress {
        try self.access { queue in
            try queue.read { JournalProgress(try Row.fetchOne($0, sql: "SELECT commits, tasks FROM progress")) }
        }
    }

    private func access<Value>(_ body: (DatabaseQueue) throws -> Value) throws(JournalOpenError) -> Value {
        try Result { try body(self.queue) }.mapError { JournalOpenError($0, self.path) }.get()
    }

    /// The stored texts of a table, by identity; empty if they cannot be read.
    func texts(in table: KeptTable) -> [String: String] {
        let rows = try? self.queue.read { try Row.fetchAll($0, sql: "SELECT identity, text FROM \(table)") }
        return Dictionary((rows ?? []).map { ($0["identity"], $0["text"]) }) { first, _ in first }
    }

    /// The newest entries of the history, oldest first; empty if they cannot be read.
    func history(newest limit: Int) -> [String] {
        let texts = try? self.queue.read { database in
            try String.fetchAll(
                database, sql: "SELECT text FROM path_event WHERE time >= 0 ORDER BY time DESC, rowid DESC LIMIT ?",
                arguments: [limit])
        }
        return (texts ?? []).reversed()
    }
}

extension JournalProgress {
    init(_ row: Row?) { self.init(commits: row?["commits"] ?? 0, tasks: row?["tasks"] ?? 0) }

    /// Adds a transaction, inside it; returns the new progress.
    static func add(tasks: Int, to database: Database) throws -> JournalProgress {
        let statement = try database.cachedStatement(
            sql: "UPDATE progress SET commits = commits + 1, tasks = tasks + ? RETURNING commits, tasks")
        return JournalProgress(try Row.fetchOne(statement, arguments: [tasks]))
    }
}

/// How many tasks of a journal are not over; written by its thread, read by any other.
final class OpenTaskCount: Sendable {
    let value = Atomic(0)
}

/// The tables that hold the latest text of something, by identity.
enum KeptTable: String, Sendable {
    /// The results of scheduled probes.
    case probe
    /// What is usual on this host's networks.
    case quality
}

/// The tables of the journal, version by version; their queries are in `TaskRow` and `JournalWorker`.
///
/// A released version is never changed. Each change is a new migration at the end.
enum JournalSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: JournalSchema.version1) }
        migrator.registerMigration("2") { try $0.execute(sql: "ALTER TABLE task ADD COLUMN party TEXT") }
        migrator.registerMigration("3") { database in
            try database.execute(sql: "CREATE TABLE unreadable_task AS SELECT * FROM task WHERE 0")
        }
        migrator.registerMigration("4") { database in
            for table in ["task", "unreadable_task"] {
                for column in ["name", "kind", "method", "url", "file"] {
                    try database.execute(sql: "ALTER TABLE \(table) ADD COLUMN \(column) TEXT")
                }
            }
            try TaskRow.fillListColumns(in: database)
        }
        migrator.registerMigration("5") { database in
            try database.execute(
                sql: "CREATE TABLE probe (identity TEXT PRIMARY KEY, time INTEGER NOT NULL, text TEXT NOT NULL) STRICT")
        }
        migrator.registerMigration("6") { database in
            try database.execute(
                sql: "CREATE TABLE progress (commits INTEGER NOT NULL, tasks INTEGER NOT NULL) STRICT")
            try database.execute(sql: "INSERT INTO progress VALUES (0, (SELECT count(*) FROM task))")
        }
        migrator.registerMigration("7") { try $0.execute(sql: IncidentRow.schema) }
        migrator.registerMigration("8") { database in
            try database.execute(
                sql:
                    "CREATE TABLE quality (identity TEXT PRIMARY KEY, time INTEGER NOT NULL, text TEXT NOT NULL) STRICT"
            )
        }
        return migrator
    }

    // Data used in searches or lists has columns; the rest is JSON, so that new fields need no new version.
    private static let version1 = """
        CREATE TABLE task (
            id TEXT NOT NULL PRIMARY KEY,
            accepted INTEGER NOT NULL,
            key TEXT,
            description TEXT NOT NULL,
            suspensions INTEGER NOT NULL,
            predecessor TEXT,
            in_doubt INTEGER NOT NULL DEFAULT 0,
            hold TEXT,
            placing TEXT,
            life TEXT NOT NULL,
            outcome TEXT,
            failure TEXT,
            explanation TEXT,
            status INTEGER,
            bytes INTEGER,
            attempts INTEGER,
            ended INTEGER
        ) STRICT;
        CREATE INDEX task_key ON task (key, id) WHERE key IS NOT NULL;
        CREATE INDEX task_open ON task (id) WHERE outcome IS NULL;
        CREATE INDEX task_ended ON task (ended) WHERE ended IS NOT NULL;
        CREATE TABLE path_event (time INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
        CREATE INDEX path_event_time ON path_event (time);
        """
}
