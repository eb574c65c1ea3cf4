internal import GRDB
internal import TidegateCore
internal import TidegateIncidents

extension IncidentChange {
    func apply(to database: Database) throws {
        switch self {
        case .save(let incident): try IncidentRow.save(incident, in: database)
        case .remove(let id):
            for table in ["incident", "coverage"] {
                try database.execute(sql: "DELETE FROM \(table) WHERE id = ?", arguments: [id])
            }
        case .cover(let span):
            let statement = try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO coverage (id, state, started, ended, text) VALUES (?, ?, ?, ?, ?)")
            try statement.execute(
                arguments: [
                    span.id, span.state.rawValue, span.start.microseconds, span.end.microseconds, span.text,
                ])
        }
    }
}

/// The tables of incidents and of the time that Tidegate watched.
enum IncidentRow {
    // What is sorted by has columns; the rest is JSON, so that new members need no migration. The evidence is most of
    // an incident, and lists do without it.
    static let schema = """
        CREATE TABLE incident (
            id TEXT NOT NULL PRIMARY KEY, started INTEGER NOT NULL, ended INTEGER, text TEXT NOT NULL,
            evidence TEXT NOT NULL
        ) STRICT;
        CREATE INDEX incident_started ON incident (started, id);
        CREATE INDEX incident_ended ON incident (ended);
        CREATE TABLE coverage (
            id TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL,
            text TEXT NOT NULL
        ) STRICT;
        CREATE INDEX coverage_ended ON coverage (ended);
        """

    /// As many ended incidents, and as many periods, are kept; a host that fails each minute must not fill the disk.
    static let limit = 50_000

    /// Deletes what ended before `time`, and what is beyond the limit.
    static func expire(before time: Int64, keeping limit: Int = Self.limit, in database: Database) throws {
        // A clock that is years ahead until it is set must not delete everything.
        let newest = try Int64.fetchOne(database, sql: "SELECT max(ended) FROM coverage WHERE state = 'watched'") ?? 0
        for table in ["incident", "coverage"] {
            try database.execute(
                sql: "DELETE FROM \(table) WHERE ended < min(?, ?)", arguments: [time, newest])
            try database.execute(
                sql: """
                    DELETE FROM \(table) WHERE ended < (
                        SELECT ended FROM \(table) WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT 1 OFFSET ?
                    )
                    """, arguments: [limit - 1])
        }
    }

    static func save(_ incident: Incident, in database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "INSERT OR REPLACE INTO incident (id, started, ended, text, evidence) VALUES (?, ?, ?, ?, ?)")
        try statement.execute(
            arguments: [
                incident.id, incident.start.microseconds, incident.end?.microseconds, incident.stored.description,
                incident.evidence.description,
            ])
    }

    static func answer(
        _ question: IncidentQuestion, at now: WallTime, newer: IncidentsNow? = nil,
        from reader: any DatabaseReader, path: String
    ) async throws(TextError) -> IncidentAnswer {
        do {
            return try await reader.read { try self.answer(question, at: now, newer: newer, in: $0) }
        } catch {
            throw TextError("the incidents in \(path) cannot be read: \(error)")
        }
    }

    static func answer(
        _ question: IncidentQuestion, at now: WallTime, newer: IncidentsNow? = nil, in database: Database
    ) throws -> IncidentAnswer {
        var answer = IncidentAnswer(to: question, at: now)
        let (sql, arguments) = self.selection(for: question)
        if question.id != nil, try Row.fetchOne(database, sql: sql, arguments: arguments) == nil { return answer }
        answer.spans = try self.spans(for: question, in: database)
            .map { $0.id == newer?.span.id ? newer?.span ?? $0 : $0 }
        answer.firstWatched = try Int64.fetchOne(
            database, sql: "SELECT min(started) FROM coverage WHERE state = 'watched'"
        ).map { WallTime(microseconds: $0) }
        let rows = try Row.fetchCursor(database, sql: sql, arguments: arguments)
        let evidence = try database.cachedStatement(sql: "SELECT evidence FROM incident WHERE id = ?")
        while !answer.isComplete, let row = try rows.next() {
            let own =
                question.wantsEvidence && answer.hasRoom ? try String.fetchOne(evidence, arguments: [row[0]]) : nil
            guard let incident = Incident(text: row[1], evidence: own ?? "{}") else { continue }
            answer.add(newer?.open[incident.id] ?? incident)
        }
        return answer
    }

    /// The rows of the incidents that may be asked for, found by a key: none of them reads the whole table for one id.
    static func selection(for question: IncidentQuestion) -> (sql: String, arguments: StatementArguments) {
        if let id = question.id {
            // Nothing that begins with the id comes after it with the last of all characters.
            return ("SELECT id, text FROM incident WHERE id >= ? AND id < ? ORDER BY id", [id, id + "\u{10FFFF}"])
        }
        let (since, until) = (question.since?.microseconds ?? .min, question.until?.microseconds ?? .max)
        let start = "(started, id) <= (SELECT started, id FROM incident WHERE id = ?)"
        let after = question.wantsTotals ? nil : question.after
        let sql = """
            SELECT id, text FROM incident WHERE (ended IS NULL OR ended > ?) AND started < ?
            \(after == nil ? "" : "AND \(start)") ORDER BY started DESC, id DESC
            """
        return (sql, StatementArguments([since, until]) + StatementArguments([after].compactMap(\.self)))
    }

    // An incident of an id needs only the plans.
    private static func spans(for question: IncidentQuestion, in database: Database) throws -> [Coverage.Span] {
        guard question.wantsTotals || question.after == nil else { return [] }
        let since = question.id == nil ? question.since?.microseconds ?? .min : .max
        return try Row.fetchAll(
            database,
            sql:
                "SELECT id, state, started, ended, text FROM coverage WHERE state = 'planned' OR (ended >= ? AND started < ?)",
            arguments: [since, question.until?.microseconds ?? .max]
        ).compactMap(Coverage.Span.init)
    }

    /// What an earlier process left open, and when it last watched.
    static func left(in database: Database) throws -> (incidents: [Incident], lastBeat: WallTime?) {
        // The clock may have been set: the newest span is the one that was written last.
        let last = try Int64.fetchOne(
            database, sql: "SELECT ended FROM coverage WHERE state = 'watched' ORDER BY rowid DESC LIMIT 1")
        let rows = try Row.fetchAll(
            database, sql: "SELECT text, evidence FROM incident WHERE ended IS NULL OR ended = ?", arguments: [last])
        let incidents = rows.compactMap { Incident(text: $0[0], evidence: $0[1]) }
        return (
            incidents.filter { $0.end == nil || $0.endReason == .stopped }, last.map { WallTime(microseconds: $0) }
        )
    }
}

extension Incident {
    fileprivate init?(text: String, evidence: String) {
        guard let stored = try? JSONValue(parsing: text.utf8) else { return nil }
        self.init(stored: stored, evidence: (try? JSONValue(parsing: evidence.utf8)) ?? .null)
    }
}

extension Coverage.Span {
    fileprivate init?(_ row: Row) {
        guard let state = (row["state"] as String?).flatMap(State.init) else { return nil }
        self.init(
            row["id"], state, from: WallTime(microseconds: row["started"]), to: WallTime(microseconds: row["ended"]),
            text: row["text"])
    }
}
