internal import GRDB
internal import Glibc
internal import TidegateModel
internal import TidegateSession

/// The SQLite file: WAL mode, every commit durable.
struct JournalFile: Sendable {
    let path: String
    let queue: DatabaseQueue

    /// Opens `journal.sqlite` in a directory, or makes it, for its owner only.
    init(directory: String) throws(JournalProblem) {
        self.path = "\(directory)/journal.sqlite"
        // Headers and bodies may be secret; the files that SQLite puts beside it take the same mode.
        let descriptor = open(self.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw .unusable(self.path, strerror(errno).map { String(cString: $0) } ?? "error \(errno)")
        }
        close(descriptor)
        do {
            self.queue = try JournalFile.queue(self.path)
            try JournalFile.prepare(self.queue)
        } catch let error as JournalProblem {
            throw error
        } catch {
            throw JournalFile.problem(error, self.path)
        }
    }

    private static func queue(_ path: String) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.label = "tidegate.journal"
        configuration.busyMode = .timeout(5)
        configuration.observesSuspensionNotifications = false
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func prepare(_ queue: DatabaseQueue) throws {
        try queue.writeWithoutTransaction { database in
            try self.check(database, queue.path)
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        let migrator = JournalSchema.migrator
        let isNewer = try queue.read { try migrator.hasBeenSuperseded($0) }
        if isNewer { throw JournalProblem.newer(queue.path) }
        try migrator.migrate(queue)
        // A wrapper that quietly lowers either of them would lose what was promised.
        let modes = try queue.writeWithoutTransaction { try JournalModes($0) }
        guard modes == .durable else { throw JournalProblem.unusable(queue.path, "SQLite runs with \(modes)") }
    }

    private static func check(_ database: Database, _ path: String) throws {
        let answers = try String.fetchAll(database, sql: "PRAGMA quick_check(1)")
        guard answers == ["ok"] else { throw JournalProblem.damaged(path, answers.first ?? "no answer") }
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
        case let error as JournalProblem: error
        case let error as DatabaseError
        where error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB:
            .damaged(path, error.message ?? "\(error.resultCode)")
        case let error as DatabaseError: .unusable(path, error.message ?? "\(error.resultCode)")
        case is DecodingError, is TaskRow.Unreadable: .damaged(path, "a task cannot be read: \(error)")
        default: .unusable(path, "\(error)")
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
