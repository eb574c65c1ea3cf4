internal import Synchronization
internal import TidegateCore

/// What is remembered of the last failed attempt of each task that is not over.
final class AttemptNotes: EventSink {
    /// The last failed attempt of a task.
    struct Note: Sendable, Hashable {
        /// Why it failed, as a clause.
        var reason: String
        /// Whose failure it was; nil if nothing tells.
        var party: FaultParty?
        /// When the next attempt starts; nil if that is not planned.
        var retryAt: WallTime?
    }

    private let notes = Mutex<[TaskID: Note]>([:])

    /// The note about a task; nil if no attempt has failed, or if the task is over.
    subscript(_ task: TaskID) -> Note? { self.notes.withLock { $0[task] } }

    func receive(_ event: Event) {
        guard case .task(let task) = event.payload else { return }
        switch task.kind {
        case .attemptFailed(let summary, let failure, let attribution, _):
            let note = Note(
                reason: failure.clause(status: summary.status, attribution), party: attribution?.party)
            self.notes.withLock { $0[task.id] = note }
        case .retryScheduled(_, let delay): self.notes.withLock { $0[task.id]?.retryAt = event.time + delay }
        case .attemptStarted(let number) where number > 1: self.notes.withLock { $0[task.id]?.retryAt = nil }
        case .completed: self.notes.withLock { $0[task.id] = nil }
        default: break
        }
    }
}
