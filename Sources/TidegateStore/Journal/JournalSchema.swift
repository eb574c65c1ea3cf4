internal import GRDB

/// The tables of the journal, version by version; their queries are in `TaskRow` and `JournalWorker`.
///
/// A version that was released is never changed: a change is a migration of its own below it.
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
        return migrator
    }

    // What is searched for or listed has a column; the rest is JSON, so that another field needs no new version.
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
