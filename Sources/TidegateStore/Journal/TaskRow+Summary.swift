internal import GRDB
internal import TidegateCore
internal import TidegateSession

// The columns that lists are made from: of thousands of tasks no description is decoded.
extension TaskRow {
    // A held body's total is the only part of a JSON column that lists show.
    static let summaryColumns = """
        id, accepted, key, name, kind, method, url, file, outcome, failure, explanation, status, bytes, attempts, ended,
        party, CASE WHEN json_valid(hold) THEN json_extract(hold, '$.offset') END AS held,
        CASE WHEN json_valid(hold) THEN json_extract(hold, '$.total') END AS total
        """

    static func summaries(_ question: JournalQuestion, in database: Database) throws -> [JournaledTaskSummary] {
        let (condition, arguments) = self.condition(of: question)
        let statement = try database.cachedStatement(sql: "SELECT \(self.summaryColumns) FROM task WHERE \(condition)")
        // A row that was damaged meanwhile must not take the others away; the next start sets it aside.
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

    /// Fills the columns of rows that an earlier version wrote, and removes the secrets of tasks that are over.
    ///
    /// A row that cannot be read stays as it is, and is set aside afterwards.
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
