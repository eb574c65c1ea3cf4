internal import GRDB

/// The settings that decide whether a commit is durable, as SQLite reports them.
struct SQLitePragmas: Hashable, CustomStringConvertible {
    var journalMode: String
    var synchronous: Int

    /// WAL mode, and an fsync(2) of the log at every commit.
    static let durable = SQLitePragmas(journalMode: "wal", synchronous: 2)

    var description: String { "journal_mode=\(self.journalMode) synchronous=\(self.synchronous)" }
}

extension SQLitePragmas {
    init(_ database: Database) throws {
        self.journalMode = try String.fetchOne(database, sql: "PRAGMA journal_mode") ?? "none"
        self.synchronous = try Int.fetchOne(database, sql: "PRAGMA synchronous") ?? 0
    }
}
