internal import FoundationEssentials
internal import GRDB
internal import TidegateCore
internal import TidegateSession

/// Accepted tasks as rows of the table `task`.
enum TaskRow {
    // By name, so that a missing column makes the statement fail rather than a later row.
    private static let columns = """
        id, accepted, description, suspensions, predecessor, in_doubt, hold, placing, life, outcome, failure, explanation,
        status, bytes, attempts, ended, party
        """

    static func insert(_ task: JournaledTask, into database: Database) throws {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO task
                    (id, accepted, key, description, suspensions, predecessor, life, name, kind, method, url, file)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        let fixed: StatementArguments = [
            task.id.description, task.accepted.microseconds, task.description.key, try self.text(task.description),
            task.suspensions, task.predecessor?.description, try self.text(task.life),
        ]
        try statement.execute(arguments: fixed + self.listColumns(of: task.description))
    }

    /// Writes an entry; false if the task is already over, or unknown.
    static func apply(_ entry: JournalEntry, to database: Database) throws -> Bool {
        let id = entry.id.description
        return switch entry {
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

    /// Records a task's end, and removes the secrets of its request; false if it is already over, or unknown.
    static func finish(_ id: String, _ end: JournaledEnd, _ database: Database) throws -> Bool {
        let isFinished = try self.update(
            "outcome = ?, failure = ?, explanation = ?, status = ?, bytes = ?, attempts = ?, ended = ?, party = ?",
            [
                end.outcome.rawValue, end.failure?.rawValue, end.explanation, end.status, end.bytes, end.attempts,
                end.at.microseconds, end.party?.rawValue, id,
            ], database)
        guard isFinished else { return false }
        let reading = try database.cachedStatement(sql: "SELECT description FROM task WHERE id = ?")
        guard let text = try String.fetchOne(reading, arguments: [id]) else { return true }
        let description: TaskDescription = try self.value(text)
        let writing = try database.cachedStatement(sql: "UPDATE task SET description = ? WHERE id = ?")
        try writing.execute(arguments: [try self.text(description.redacted), id])
        return true
    }

    // Only unfinished tasks change: a replaced task stays cancelled.
    private static func update(
        _ changes: String, _ arguments: StatementArguments, _ database: Database
    ) throws -> Bool {
        let statement = try database.cachedStatement(sql: "UPDATE task SET \(changes) WHERE id = ? AND outcome IS NULL")
        try statement.execute(arguments: arguments)
        return database.changesCount > 0
    }

    static func all(_ question: JournalQuestion, in database: Database) throws -> [JournaledTask] {
        let (condition, arguments) = self.condition(of: question)
        let statement = try database.cachedStatement(sql: "SELECT \(self.columns) FROM task WHERE \(condition)")
        return try Row.fetchAll(statement, arguments: arguments).map(self.task)
    }

    static func ids(
        where condition: String, _ arguments: StatementArguments, in database: Database
    ) throws -> [TaskID] {
        let statement = try database.cachedStatement(sql: "SELECT id FROM task WHERE \(condition)")
        return try String.fetchAll(statement, arguments: arguments).compactMap { TaskID($0) }
    }

    static func condition(of question: JournalQuestion) -> (text: String, arguments: StatementArguments) {
        switch question {
        case .unfinished: ("outcome IS NULL ORDER BY id", [])
        case .task(let id): ("id = ?", [id.description])
        case .among(let ids):
            ("id IN (SELECT value FROM json_each(?))", ["[\(ids.map { "\"\($0)\"" }.joined(separator: ","))]"])
        case .keyed(let key): ("key = ? ORDER BY id DESC LIMIT 1", [key])
        case .ended(let limit): ("ended IS NOT NULL ORDER BY ended DESC LIMIT ?", [limit])
        }
    }

    /// Moves unreadable tasks to the table `unreadable_task`; returns the reasons.
    static func setUnreadableAside(in database: Database) throws -> [String] {
        let reasons = try self.unreadable(in: database)
        let columns = "\(self.columns), key, name, kind, method, url, file"
        for row in reasons.keys {
            try database.execute(
                sql: "INSERT INTO unreadable_task (\(columns)) SELECT \(columns) FROM task WHERE rowid = ?",
                arguments: [row])
            try database.execute(sql: "DELETE FROM task WHERE rowid = ?", arguments: [row])
        }
        return reasons.values.sorted()
    }

    /// Why tasks cannot be read, by the number of their rows: damage may be in what an index has of a row, too.
    static func unreadable(in database: Database) throws -> [Int64: String] {
        var reasons: [Int64: String] = [:]
        func check(_ columns: String, _ condition: String, _ read: (Row) throws -> Void) throws {
            let rows = try Row.fetchCursor(
                database, sql: "SELECT rowid, \(columns) FROM task NOT INDEXED WHERE \(condition)")
            while let row = try rows.next() {
                do { try read(row) } catch { reasons[row["rowid"]] = "task \(row["id"] as String): \(error)" }
            }
        }
        try check(self.columns, "outcome IS NULL") { _ = try self.task($0) }
        // For finished tasks, only the data shown in lists is read.
        try check(self.summaryColumns, "outcome IS NOT NULL") { _ = try self.summary($0) }
        return reasons
    }

    private static func task(_ row: Row) throws -> JournaledTask {
        guard let id = TaskID(row["id"] as String) else {
            throw TextError("\"\(row["id"] as String)\" is not a task id")
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

    static func end(_ row: Row) throws -> JournaledEnd? {
        guard let text = row["outcome"] as String? else { return nil }
        guard let outcome = TaskOutcome(rawValue: text) else { throw TextError("\"\(text)\" is not an outcome") }
        var end = JournaledEnd(outcome, at: WallTime(microseconds: row["ended"] ?? 0))
        end.failure = (row["failure"] as String?).flatMap { TaskFailure(rawValue: $0) }
        (end.explanation, end.status) = (row["explanation"], row["status"])
        (end.bytes, end.attempts) = (row["bytes"] ?? 0, row["attempts"] ?? 0)
        end.party = (row["party"] as String?).flatMap { FaultParty(rawValue: $0) }
        return end
    }

    static func text(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    static func value<Value: Decodable>(_ text: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(text.utf8))
    }

    // The columns for lists, so that listing thousands of tasks decodes no descriptions.

    // A held body's total size is the only part of a JSON column that lists show.
    static let summaryColumns = """
        id, accepted, key, name, kind, method, url, file, outcome, failure, explanation, status, bytes, attempts, ended,
        party, CASE WHEN json_valid(hold) THEN json_extract(hold, '$.offset') END AS held,
        CASE WHEN json_valid(hold) THEN json_extract(hold, '$.total') END AS total
        """

    static func summaries(_ question: JournalQuestion, in database: Database) throws -> [JournaledTaskSummary] {
        let (condition, arguments) = self.condition(of: question)
        let statement = try database.cachedStatement(sql: "SELECT \(self.summaryColumns) FROM task WHERE \(condition)")
        // A row damaged in the meantime must not hide the others; the next start sets it aside.
        return try Row.fetchAll(statement, arguments: arguments).compactMap { try? self.summary($0) }
    }

    static func summary(_ row: Row) throws -> JournaledTaskSummary {
        let text: String = row["id"]
        guard let id = TaskID(text) else { throw TextError("\"\(text)\" is not a task id") }
        guard let kind = (row["kind"] as String?).flatMap({ TaskKind(rawValue: $0) }),
            let method = row["method"] as String?, let url = row["url"] as String?
        else { throw TextError("its request cannot be read") }
        var summary = JournaledTaskSummary(
            id: id, accepted: WallTime(microseconds: row["accepted"]), kind: kind, method: method, url: url,
            end: try self.end(row))
        (summary.key, summary.name, summary.file) = (row["key"], row["name"], row["file"])
        (summary.offset, summary.total) = (row["held"] ?? 0, row["total"])
        return summary
    }

    /// The values of the columns `name` to `file`.
    static func listColumns(of description: TaskDescription) -> StatementArguments {
        [
            description.name, description.kind.rawValue, description.method,
            URLRedaction().text(of: description.url), description.file,
        ]
    }

    /// Fills the columns of rows from an earlier version, and removes the secrets of finished tasks.
    ///
    /// A row that cannot be read is not changed, and is set aside afterwards.
    static func fillListColumns(in database: Database) throws {
        let update = try database.makeStatement(
            sql: "UPDATE task SET name = ?, kind = ?, method = ?, url = ?, file = ?, description = ? WHERE id = ?")
        for id in try String.fetchAll(database, sql: "SELECT id FROM task") {
            guard
                let row = try Row.fetchOne(
                    database, sql: "SELECT description, outcome FROM task WHERE id = ?", arguments: [id]),
                let description: TaskDescription = try? self.value(row["description"] as String)
            else { continue }
            let kept = row["outcome"] as String? == nil ? description : description.redacted
            try update.execute(arguments: self.listColumns(of: description) + [try self.text(kept), id])
        }
    }
}
