internal import GRDB

/// The SQL of the remote-write queue's table, version by version.
///
/// A version that was released is never changed: a change is a migration of its own below it.
enum SampleQueueSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: SampleQueueSchema.version1) }
        return migrator
    }

    /// The file shrinks when batches are removed, and the log beside it stays small.
    static let pragmas = ["auto_vacuum = FULL", "wal_autocheckpoint = 128", "journal_size_limit = 524288"]

    // SQLite's pages have no checksum; a body that changed on the disk must not be sent.
    private static let version1 = """
        CREATE TABLE batch (
            sequence INTEGER NOT NULL PRIMARY KEY,
            samples INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        """
}
