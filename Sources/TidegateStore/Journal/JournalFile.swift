internal import GRDB
internal import Glibc
internal import TidegateCore
internal import TidegateSession

/// The SQLite file: WAL mode, every commit durable.
struct JournalFile: Sendable {
    let path: String
    let queue: DatabaseQueue

    /// Opens `journal.sqlite` in a directory, or makes it, for its owner only; `migrator` knows the versions.
    init(directory: String, migrator: DatabaseMigrator = JournalSchema.migrator) throws(JournalProblem) {
        self.path = JournalFile.path(in: directory)
        // Headers and bodies may be secret; the files that SQLite puts beside it take the same mode.
        let descriptor = open(self.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .unusable(self.path, StateDirectoryValidator.words(errno)) }
        close(descriptor)
        do {
            try JournalFile.check(self.path, migrator)
            self.queue = try JournalFile.queue(self.path)
            try JournalFile.prepare(self.queue, migrator)
        } catch {
            throw JournalFile.problem(error, self.path)
        }
    }

    /// Where a directory's journal is.
    static func path(in directory: String) -> String { "\(directory)/journal.sqlite" }

    private static func queue(_ path: String, isReadOnly: Bool = false) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.readonly = isReadOnly
        configuration.label = "tidegate.journal"
        configuration.busyMode = .timeout(5)
        configuration.observesSuspensionNotifications = false
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func prepare(_ queue: DatabaseQueue, _ migrator: DatabaseMigrator) throws {
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        try migrator.migrate(queue)
        // A wrapper that quietly lowers either of them would lose what was promised.
        let modes = try queue.writeWithoutTransaction { try JournalModes($0) }
        guard modes == .durable else { throw JournalProblem.unusable(queue.path, "SQLite runs with \(modes)") }
    }

    /// Finds out whether the file is a whole journal of ours, and changes nothing.
    private static func check(_ path: String, _ migrator: DatabaseMigrator) throws {
        let log = "\(path)-wal"
        // SQLite would take the log for one of an earlier file and delete it, with the tasks in it.
        guard self.size(path) != 0 || self.size(log) == 0 else {
            throw JournalProblem.damaged(path, "it is empty, but \(log) is not")
        }
        // Whoever may write moves the log into the file when closing, however damaged that is.
        let queue = try self.queue(path, isReadOnly: true)
        defer { try? queue.close() }
        try queue.read { try self.check($0, path, migrator) }
    }

    private static func check(_ database: Database, _ path: String, _ migrator: DatabaseMigrator) throws {
        let answers = try String.fetchAll(database, sql: "PRAGMA quick_check(1)")
        guard answers == ["ok"] else {
            // A heading, then what is wrong.
            let lines = answers.flatMap { $0.split(separator: "\n") }.filter { !$0.hasPrefix("***") }
            throw JournalProblem.damaged(path, lines.first.map(String.init) ?? "SQLite gives no answer")
        }
        let isEmpty = try Bool.fetchOne(database, sql: "SELECT count(*) = 0 FROM sqlite_schema") ?? true
        let isOurs = try database.tableExists("grdb_migrations")
        guard isEmpty || isOurs else { throw JournalProblem.foreign(path) }
        if try migrator.hasBeenSuperseded(database) { throw JournalProblem.newer(path) }
    }

    private static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Reads every task that is not over; gives their number.
    func checkTasks() throws(JournalProblem) -> Int {
        do {
            return try self.queue.read { try TaskRow.all(where: "outcome IS NULL", in: $0).count }
        } catch {
            throw JournalFile.problem(error, self.path)
        }
    }

    private static func problem(_ error: any Error, _ path: String) -> JournalProblem {
        switch error {
        case let error as JournalProblem: return error
        case let error as DatabaseError:
            let words = error.message ?? "\(error.resultCode)"
            switch error.resultCode {
            // The last one is SQL that does not fit the tables.
            case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR: return .damaged(path, words)
            default: return .unusable(path, error.isFullDisk(at: path) ? "the disk is full" : words)
            }
        case is DecodingError, is TaskRow.Unreadable: return .damaged(path, "a task cannot be read: \(error)")
        default: return .unusable(path, "\(error)")
        }
    }
}

extension DatabaseError {
    /// True where SQLite has failed for want of room, which it says of writes only.
    func isFullDisk(at path: String) -> Bool {
        switch self.resultCode {
        case .SQLITE_FULL: return true
        case .SQLITE_IOERR, .SQLITE_CANTOPEN:
            var system = statvfs()
            return statvfs(path, &system) == 0 && (system.f_bavail == 0 || (system.f_files > 0 && system.f_favail == 0))
        default: return false
        }
    }
}

/// How SQLite writes.
struct JournalModes: Hashable, CustomStringConvertible {
    var journal: String
    var synchronous: Int

    static let durable = JournalModes(journal: "wal", synchronous: 2)

    init(journal: String, synchronous: Int) {
        self.journal = journal
        self.synchronous = synchronous
    }

    init(_ database: Database) throws {
        self.journal = try String.fetchOne(database, sql: "PRAGMA journal_mode") ?? "none"
        self.synchronous = try Int.fetchOne(database, sql: "PRAGMA synchronous") ?? 0
    }

    var description: String { "journal_mode=\(self.journal) synchronous=\(self.synchronous)" }
}
