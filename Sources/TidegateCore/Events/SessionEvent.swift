/// Something that happened to a session as a whole.
public enum SessionEvent: Sendable {
    /// A new network epoch began: no pooled connection or cached name survives it.
    case poolReplaced(number: Int)
    /// An origin, `SCHEME://HOST:PORT`, failed too often: no task contacts it during the pause, and then one task
    /// goes first.
    indirect case circuitOpened(origin: String, pause: Duration)
    /// The origin of an open circuit answers again.
    case circuitClosed(origin: String)
    /// A later diagnosis identified the party behind an attempt's silence; the task's own events do not change.
    indirect case attributionRevised(task: TaskID, attempt: Int, from: FaultParty, to: FaultParty)
    /// Every task that was restored from the journal has ended; how many there were.
    case restoredTasksEnded(count: Int)
    /// A response of the validator store was removed, or could not be written: the file, and what is wrong with it.
    indirect case storedResponseDropped(file: String, problem: String)
    /// Cookies, stored responses and idle connections were dropped on request.
    case reset
    /// The session is over and its last task has ended.
    case invalidated

    var projection: EventProjection {
        switch self {
        case .poolReplaced(let number):
            EventProjection(
                "session.epochBegan", .info, "network epoch began",
                "new connections from here on: the network changed", [.both("epoch", number)])
        case .circuitOpened(let origin, let pause):
            EventProjection(
                "session.circuitOpened", .warning, "circuit opened",
                "no requests to \(origin) for \(pause.shortText) after repeated failures",
                [.both("origin", .url(origin)), .json("pauseSeconds", pause), .log("seconds", pause.inSeconds)])
        case .circuitClosed(let origin):
            EventProjection(
                "session.circuitClosed", .info, "circuit closed", "\(origin) answers again",
                [.both("origin", .url(origin))])
        case .attributionRevised(let task, let attempt, let from, let to):
            EventProjection(
                "attribution.revised", .info, "attribution revised",
                "attempt \(attempt) failed by what is now known: \(to)",
                [
                    .both("task", task.description), .both("attempt", attempt), .both("from", .word(from)),
                    .both("to", .word(to)),
                ])
        case .restoredTasksEnded(let count):
            EventProjection(
                "session.restoredTasksEnded", .info, "restored tasks ended",
                count == 1
                    ? "the task that was left from an earlier run has ended"
                    : "all \(count) tasks that were left from an earlier run have ended", [.both("count", count)])
        case .storedResponseDropped(let file, let problem):
            EventProjection(
                "session.storedResponseDropped", .warning, "stored response dropped",
                "\(file) \(problem); the response is requested again", [.both("file", file), .both("problem", problem)])
        case .reset:
            EventProjection(
                "session.reset", .info, "session reset", "cookies, stored responses and connections were given up")
        case .invalidated:
            EventProjection(
                "session.invalidated", .debug, "session invalidated", "no more requests are made")
        }
    }

    /// What has happened, in one clause.
    package var sentence: String { self.projection.sentence }
}

/// Something the daemon did.
public enum DaemonEvent: Sendable {
    /// The configuration was read; false if the file is invalid and the old one stays.
    case configurationLoaded(isGood: Bool)
    /// The endpoint answered a request.
    indirect case requestAnswered(handler: String, status: Int)
    /// A scheduled run was skipped because the task's last run is not over.
    case runSkipped(task: String)
    /// Something happened to the journal of accepted tasks.
    indirect case journal(JournalEvent)
    /// Something happened to the samples that are sent to a receiver.
    indirect case remoteWrite(RemoteWriteEvent)
    /// The operator's command for incidents has ended; nil if it succeeded.
    case incidentCommand(failure: String?)
    /// The daemon is stopping.
    case stopping

    var projection: EventProjection {
        switch self {
        case .configurationLoaded(let isGood):
            EventProjection(
                "daemon.configurationLoaded", isGood ? .info : .error,
                isGood ? "configuration loaded" : "configuration reload failed",
                isGood ? "configuration loaded" : "the configuration is invalid; the old one stays",
                [.json("good", isGood)])
        case .requestAnswered(let handler, let status):
            EventProjection(
                "daemon.requestAnswered", .debug, "request answered",
                "answered a request for \(handler) with \(status)",
                [.both("handler", handler), .both("status", status)])
        case .runSkipped(let task):
            EventProjection(
                "daemon.turnSkipped", .info, "scheduled run skipped: the previous run is still active",
                "\(task) skipped: the previous run is still going", [.both("name", task)])
        case .journal(let journal): journal.projection
        case .remoteWrite(let event): event.projection
        case .incidentCommand(let failure):
            EventProjection(
                "daemon.incidentCommand", failure == nil ? .debug : .warning,
                failure == nil ? "incident command ended" : "incident command failed",
                failure.map { "the command of incidents failed: \($0)" } ?? "the command of incidents ended",
                [.both("error", failure)])
        case .stopping: EventProjection("daemon.stopping", .info, "stopping", "stopping")
        }
    }

    var relevance: Event.Relevance {
        switch self {
        case .requestAnswered, .journal(.committed), .incidentCommand(failure: nil): .log
        case .remoteWrite(let event): event.isNews ? .page : .log
        case .configurationLoaded, .runSkipped, .journal, .incidentCommand, .stopping: .page
        }
    }
}

/// Something that happened to the journal of accepted tasks.
public enum JournalEvent: Sendable {
    /// It was opened, with so many tasks that are not over.
    case opened(unfinished: Int)
    /// So many entries became durable together, in this time.
    case committed(entries: Int, duration: Duration)
    /// So many entries could not be written.
    case failed(JournalIssue, entries: Int)
    /// So many transactions, with so many accepted tasks, were durable and are missing: its file or its write-ahead log
    /// was cut, removed or replaced.
    case lost(transactions: Int, tasks: Int)

    var projection: EventProjection {
        switch self {
        case .opened(let unfinished):
            EventProjection(
                "daemon.journalOpened", .info, "journal opened",
                "journal opened, \(unfinished) unfinished tasks", [.both("unfinished", unfinished)])
        case .committed(let entries, let duration):
            EventProjection(
                "daemon.journalCommitted", .debug, "journal written", "\(entries) journal entries written",
                [.both("entries", entries), .json("durationSeconds", duration), .log("seconds", duration.inSeconds)])
        case .failed(let issue, let entries):
            EventProjection(
                "daemon.journalFailed", .error, "journal write failed",
                "the journal cannot be written: \(issue)",
                [.json("reason", issue.rawValue), .log("reason", issue.label), .both("entries", entries)])
        case .lost(let transactions, let tasks):
            EventProjection(
                "daemon.journalLost", .error, "journal lost transactions",
                "the journal lost its last \(transactions) transactions with \(tasks) accepted tasks, because its file or "
                    + "its write-ahead log was cut, removed or replaced: submit those tasks again that had not ended; unfinished "
                    + "requests that must not be sent twice fail, because they may have been sent",
                [.both("transactions", transactions), .both("tasks", tasks)])
        }
    }
}

/// Why a journal cannot write.
public enum JournalIssue: String, Sendable, MetricLabel, CustomStringConvertible {
    /// The disk, or a quota, is full: waiting may help.
    case diskFull
    /// The disk failed.
    case disk
    /// The file was removed or replaced while it was in use.
    case removed
    /// The journal is closed.
    case closed

    /// The issue as a clause: `the disk is full`.
    public var description: String {
        switch self {
        case .diskFull: "the disk is full"
        case .disk: "the disk failed"
        case .removed: "its file was removed or replaced"
        case .closed: "the journal is closed"
        }
    }
}
