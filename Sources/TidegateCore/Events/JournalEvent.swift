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
