internal import FoundationEssentials
internal import GRDB
internal import TidegateCore
internal import TidegateSession

/// A row that no version of Tidegate writes.
struct TaskRowError: Error, CustomStringConvertible {
    let description: String
}

/// Accepted tasks as rows of the table `task`.
enum TaskRow {
    // By name, so that a missing column fails the statement instead of a later row.
    private static let columns = """
        id, accepted, description, suspensions, predecessor, in_doubt, hold, placing, life, outcome, failure, explanation,
        status, bytes, attempts, ended, party
        """

    static func insert(_ task: JournaledTask, into database: Database) throws {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO task (id, accepted, key, description, suspensions, predecessor, life)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [
            task.id.description, task.accepted.microseconds, task.description.key, try self.text(task.description),
            task.suspensions, task.predecessor?.description, try self.text(task.life),
        ])
    }

    static func apply(_ entry: JournalEntry, to database: Database) throws {
        let id = entry.id.description
        switch entry {
        case .suspensions(_, let count, let life):
            try self.update("suspensions = ?, life = ?", [count, try self.text(life), id], database)
        case .sending: try self.update("in_doubt = 1", [id], database)
        case .notSent: try self.update("in_doubt = 0", [id], database)
        case .tried(_, let life): try self.update("life = ?", [try self.text(life), id], database)
        case .held(_, let hold, let life):
            try self.update("hold = ?, life = ?", [try self.text(hold), try self.text(life), id], database)
        case .placing(_, let file): try self.update("placing = ?", [try self.text(file), id], database)
        case .ended(_, let end): try self.finish(id, end, database)
        }
    }

    static func finish(_ id: String, _ end: JournaledEnd, _ database: Database) throws {
        try self.update(
            "outcome = ?, failure = ?, explanation = ?, status = ?, bytes = ?, attempts = ?, ended = ?, party = ?",
            [
                end.outcome.rawValue, end.failure?.rawValue, end.explanation, end.status, end.bytes, end.attempts,
                end.at.microseconds, end.party?.rawValue, id,
            ], database)
    }

    // Only unfinished tasks change: a task that was replaced stays cancelled.
    private static func update(_ changes: String, _ arguments: StatementArguments, _ database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "UPDATE task SET \(changes) WHERE id = ? AND outcome IS NULL")
        try statement.execute(arguments: arguments)
    }

    static func all(
        where condition: String, arguments: StatementArguments = [], in database: Database
    ) throws -> [JournaledTask] {
        let statement = try database.cachedStatement(sql: "SELECT \(self.columns) FROM task WHERE \(condition)")
        return try Row.fetchAll(statement, arguments: arguments).map(self.task)
    }

    /// Moves unfinished tasks that cannot be read to the table `unreadable_task`; returns the reasons.
    static func setUnreadableAside(in database: Database) throws -> [String] {
        let rows = try Row.fetchAll(database, sql: "SELECT \(self.columns) FROM task WHERE outcome IS NULL")
        var reasons: [String] = []
        for row in rows {
            do {
                _ = try self.task(row)
            } catch {
                let id: String = row["id"]
                let columns = "\(self.columns), key"
                try database.execute(
                    sql: "INSERT INTO unreadable_task (\(columns)) SELECT \(columns) FROM task WHERE id = ?",
                    arguments: [id])
                try database.execute(sql: "DELETE FROM task WHERE id = ?", arguments: [id])
                reasons.append("task \(id): \(error)")
            }
        }
        return reasons
    }

    private static func task(_ row: Row) throws -> JournaledTask {
        guard let id = TaskID(row["id"] as String) else {
            throw TaskRowError(description: "\"\(row["id"] as String)\" is not a task id")
        }
        var task = JournaledTask(
            id: id, accepted: WallTime(microseconds: row["accepted"]),
            description: try self.value(row["description"] as String), suspensions: row["suspensions"],
            life: try self.value(row["life"] as String))
        task.predecessor = (row["predecessor"] as String?).flatMap { TaskID($0) }
        task.isInDoubt = row["in_doubt"]
        task.hold = try (row["hold"] as String?).map(self.value)
        task.placing = try (row["placing"] as String?).map(self.value)
        task.end = try self.end(row)
        return task
    }

    private static func end(_ row: Row) throws -> JournaledEnd? {
        guard let text = row["outcome"] as String? else { return nil }
        guard let outcome = TaskOutcome(rawValue: text) else {
            throw TaskRowError(description: "\"\(text)\" is not an outcome")
        }
        return JournaledEnd(
            outcome: outcome, failure: (row["failure"] as String?).flatMap { TaskFailure(rawValue: $0) },
            explanation: row["explanation"], status: row["status"], bytes: row["bytes"] ?? 0,
            attempts: row["attempts"] ?? 0, at: WallTime(microseconds: row["ended"] ?? 0),
            party: (row["party"] as String?).flatMap { FaultParty(rawValue: $0) })
    }

    private static func text(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    private static func value<Value: Decodable>(_ text: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(text.utf8))
    }
}
