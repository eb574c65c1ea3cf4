/// Something that happened to a session as a whole.
public enum SessionEvent: Sendable {
    /// A new network epoch began: no pooled connection or cached name survives it.
    case poolReplaced(number: Int)
    /// An origin, `SCHEME://HOST:PORT`, failed too often: nobody asks it for so long, and then one task first.
    indirect case circuitOpened(origin: String, pause: Duration)
    /// The origin of an open circuit answers again.
    case circuitClosed(origin: String)
    /// A later diagnosis found out whose failure an attempt's silence was; events of the task itself stay as they are.
    indirect case attributionRevised(task: TaskID, attempt: Int, from: FaultParty, to: FaultParty)
    /// Every task that was restored from the journal has ended; how many there were.
    case restoredTasksEnded(count: Int)
    /// A response of the validator store was removed, or could not be written: the file, and what is wrong with it.
    indirect case storedResponseDropped(file: String, problem: String)
    /// Cookies, stored responses and idle connections were given up, because that was asked for.
    case reset
    /// The session is over and its last task has ended.
    case invalidated
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
    /// The daemon is stopping.
    case stopping
}

/// Something that happened to the journal of accepted tasks.
public enum JournalEvent: Sendable {
    /// It was opened, with so many tasks that are not over.
    case opened(unfinished: Int)
    /// So many entries became durable together, in this time.
    case committed(entries: Int, duration: Duration)
    /// So many entries could not be written.
    case failed(JournalIssue, entries: Int)
}

/// Why a journal cannot write.
public enum JournalIssue: String, Sendable, MetricLabel {
    /// The disk, or a quota, is full: waiting may help.
    case diskFull
    /// The disk failed.
    case disk
    /// The journal is closed.
    case closed
}

extension JournalIssue: CustomStringConvertible {
    /// The issue as a clause: `the disk is full`.
    public var description: String {
        switch self {
        case .diskFull: "the disk is full"
        case .disk: "the disk failed"
        case .closed: "the journal is closed"
        }
    }
}
