internal import GRDB
internal import Glibc
internal import TidegateSession

/// The journal's SQLite file.
struct JournalFile: Sendable {
    let path: String
    let queue: DatabaseQueue

    /// Opens `journal.sqlite` in a directory, or creates it; `migrator` knows the versions of its tables.
    init(directory: String, migrator: DatabaseMigrator = JournalSchema.migrator) throws(JournalOpenError) {
        self.path = JournalFile.path(in: directory)
        do {
            self.queue = try DurableDatabase.open(
                self.path, migrator: migrator, pragmas: ["secure_delete = ON"], checksEveryPage: true)
        } catch {
            throw JournalOpenError(error, self.path)
        }
    }

    /// The path of a directory's journal.
    static func path(in directory: String) -> String { "\(directory)/journal.sqlite" }

    /// Throws if the file exists and has nothing in it; one that was moved away begins anew.
    static func checkNotEmptied(in directory: String) throws(JournalOpenError) {
        let path = self.path(in: directory)
        var status = stat()
        guard lstat(path, &status) == 0, status.st_size == 0 else { return }
        throw .damaged(path, "it is empty, and was not when it was last used")
    }

    /// Moves tasks that cannot be read to a table of their own, so that the others go on; returns why.
    func setUnreadableTasksAside() throws(JournalOpenError) -> [String] {
        do {
            return try self.queue.write { try TaskRow.setUnreadableAside(in: $0) }
        } catch {
            throw JournalOpenError(DurableDatabase.OpenError(error, self.path), self.path)
        }
    }

    /// The number of unfinished tasks.
    func countUnfinished() throws(JournalOpenError) -> Int {
        do {
            return try self.queue.read { database in
                try Int.fetchOne(database, sql: "SELECT count(*) FROM task WHERE outcome IS NULL") ?? 0
            }
        } catch {
            throw JournalOpenError(DurableDatabase.OpenError(error, self.path), self.path)
        }
    }

    /// The newest entries of the history, the oldest first; none if they cannot be read.
    func history(newest limit: Int) -> [String] {
        let texts = try? self.queue.read { database in
            try String.fetchAll(
                database, sql: "SELECT text FROM path_event WHERE time >= 0 ORDER BY time DESC, rowid DESC LIMIT ?",
                arguments: [limit])
        }
        return (texts ?? []).reversed()
    }
}
