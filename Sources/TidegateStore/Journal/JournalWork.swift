internal import GRDB
internal import TidegateCore
internal import TidegateSession

/// One thing to be written, and who wants to hear of it.
enum JournalWork: Sendable {
    case accept(JournaledTask, DuplicatePolicy, @Sendable (Result<Acceptance, JournalError>) -> Void)
    case entry(JournalEntry, @Sendable (Result<Void, JournalError>) -> Void)
    case pathEvent(WallTime, String)

    /// Tells whoever waits that the work is durable.
    typealias Told = @Sendable () -> Void

    /// True where somebody waits.
    var isUrgent: Bool {
        switch self {
        case .accept: true
        case .entry(let entry, _): entry.isUrgent
        case .pathEvent: false
        }
    }

    /// The kind, as steps name it.
    var name: String {
        switch self {
        case .accept: "accepted"
        case .pathEvent: "pathEvent"
        case .entry(let entry, _):
            switch entry {
            case .suspensions: "suspensions"
            case .sending: "sending"
            case .notSent: "notSent"
            case .tried: "tried"
            case .held: "held"
            case .placing: "placing"
            case .ended: "ended"
            }
        }
    }

    /// Does the work inside a transaction; gives what to do once that is durable.
    func apply(to database: Database, at now: WallTime) throws -> Told {
        switch self {
        case .accept(let task, let policy, let completion):
            let acceptance = try JournalWork.accept(task, policy, at: now, in: database)
            return { completion(.success(acceptance)) }
        case .entry(let entry, let completion):
            try TaskRow.apply(entry, to: database)
            return { completion(.success(())) }
        case .pathEvent(let time, let text):
            let statement = try database.cachedStatement(sql: "INSERT INTO path_event (time, text) VALUES (?, ?)")
            try statement.execute(arguments: [time.microseconds, text])
            return {}
        }
    }

    func fail(_ error: JournalError) {
        switch self {
        case .accept(_, _, let completion): completion(.failure(error))
        case .entry(_, let completion): completion(.failure(error))
        case .pathEvent: break
        }
    }

    private static func accept(
        _ task: JournaledTask, _ policy: DuplicatePolicy, at now: WallTime, in database: Database
    ) throws -> Acceptance {
        var task = task
        var replaced: [TaskID] = []
        if let key = task.description.key {
            switch policy {
            case .keep:
                let known = try TaskRow.all(where: "key = ? ORDER BY id DESC LIMIT 1", arguments: [key], in: database)
                if let known = known.first { return .kept(known) }
            case .replace, .append:
                let open = try TaskRow.all(
                    where: "key = ? AND outcome IS NULL ORDER BY id", arguments: [key], in: database)
                // One that is replaced may still have the same file open.
                task.predecessor = open.last?.id
                if policy == .replace { replaced = open.map(\.id) }
            }
        }
        let words = "replaced by the task \(task.id)"
        for id in replaced {
            let end = JournaledEnd(outcome: .cancelled, failure: .cancelled, explanation: words, at: now)
            try TaskRow.finish(id.description, end, database)
        }
        try TaskRow.insert(task, into: database)
        return .accepted(task, replacing: replaced)
    }
}
