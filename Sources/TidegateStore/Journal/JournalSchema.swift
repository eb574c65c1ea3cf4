internal import GRDB

/// The tables, version by version.
enum JournalSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: JournalSchema.first) }
        return migrator
    }

    // What is looked for has a column; the rest is one text, so that a field more is no new version.
    private static let first = """
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
