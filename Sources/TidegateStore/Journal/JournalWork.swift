internal import GRDB
internal import TidegateCore
internal import TidegateSession

/// Something to be written, with the completion to be called once it is durable.
enum JournalWork: Sendable {
    case accept(JournaledTask, DuplicatePolicy, @Sendable (Result<Acceptance, JournalError>) -> Void)
    case entry(JournalEntry, @Sendable (Result<Void, JournalError>) -> Void)
    case pathEvent(WallTime, String)

    /// What follows once the transaction is durable.
    struct Applied {
        /// How many more tasks are not over.
        var openTasks = 0
        /// Reports success to the caller.
        var completion: @Sendable () -> Void = {}
    }

    /// True if a caller waits for it.
    var isUrgent: Bool {
        switch self {
        case .accept: true
        case .entry(let entry, _): entry.isUrgent
        case .pathEvent: false
        }
    }

    /// The kind, as ``Journal/CommitPhase`` names it.
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

    /// Writes it inside a transaction.
    func apply(to database: Database, at now: WallTime) throws -> Applied {
        switch self {
        case .accept(let task, let policy, let completion):
            let acceptance = try JournalWork.accept(task, policy, at: now, in: database)
            var change = 0
            if case .accepted(_, let replaced) = acceptance { change = 1 - replaced.count }
            return Applied(openTasks: change) { completion(.success(acceptance)) }
        case .entry(let entry, let completion):
            let isChanged = try TaskRow.apply(entry, to: database)
            var isEnd = false
            if case .ended = entry { isEnd = true }
            return Applied(openTasks: isEnd && isChanged ? -1 : 0) { completion(.success(())) }
        case .pathEvent(let time, let text):
            let statement = try database.cachedStatement(sql: "INSERT INTO path_event (time, text) VALUES (?, ?)")
            try statement.execute(arguments: [time.microseconds, text])
            return Applied()
        }
    }

    /// Reports that it could not be written.
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
                let known = try TaskRow.ids(where: "key = ? ORDER BY id DESC LIMIT 1", [key], in: database)
                if let known = known.first { return .kept(known) }
            case .replace, .append:
                let unfinished = try TaskRow.ids(
                    where: "key = ? AND outcome IS NULL ORDER BY id", [key], in: database)
                // Also when it is replaced: until it has ended, it may still have the same file open.
                task.predecessor = unfinished.last
                if policy == .replace { replaced = unfinished }
            }
        }
        for id in replaced {
            var end = JournaledEnd(.cancelled, at: now)
            (end.failure, end.explanation) = (.cancelled, "replaced by the task \(task.id)")
            _ = try TaskRow.finish(id.description, end, database)
        }
        try TaskRow.insert(task, into: database)
        return .accepted(task, replacing: replaced)
    }
}
