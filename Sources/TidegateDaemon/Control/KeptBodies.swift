internal import Synchronization
internal import Tidegate

/// The beginnings of response bodies that are not written to a file, for `tasks show --body`.
///
/// Kept in memory until a restart: 64 KiB each, for the last 256 tasks that received a body.
final class KeptBodies: Sendable {
    /// The number of bytes kept per body, equal to what a session keeps of a rejected response.
    static let bytesPerBody = 64 << 10
    /// The maximum number of bodies kept.
    static let mostBodies = 256

    private struct State {
        var bodies: [TaskID: [UInt8]] = [:]
        /// In the order of their first bytes.
        var order: [TaskID] = []
    }

    private let state = Mutex(State())

    /// Receives the bytes of a session's bodies.
    var observer: TaskObserver {
        var observer = TaskObserver(data: { task, offset, bytes in
            if task.request.destination == .discard { self.add(bytes, at: offset, of: task.id) }
        })
        observer.dataLimit = KeptBodies.bytesPerBody
        return observer
    }

    /// The beginning of a task's body; nil if none is kept.
    subscript(_ task: TaskID) -> [UInt8]? { self.state.withLock { $0.bodies[task] } }

    func add(_ bytes: [UInt8], at offset: Int64, of task: TaskID) {
        guard offset < KeptBodies.bytesPerBody else { return }
        self.state.withLock { state in
            if state.bodies[task] == nil {
                if state.order.count == KeptBodies.mostBodies { state.bodies[state.order.removeFirst()] = nil }
                state.order.append(task)
            }
            // Another attempt may start again at 0.
            let known = state.bodies[task, default: []].prefix(Int(offset))
            guard known.count == Int(offset) else { return }
            state.bodies[task] = Array(known) + bytes.prefix(KeptBodies.bytesPerBody - known.count)
        }
    }
}

/// The last failed attempt of each unfinished task.
final class AttemptNotes: EventSink {
    /// The last failed attempt of a task.
    struct Note: Sendable, Hashable {
        /// Why it failed, as a clause.
        var reason: String
        /// The responsible party; nil if unknown.
        var party: FaultParty?
        /// When the next attempt starts; nil if none is scheduled.
        var retryAt: WallTime?
    }

    private let notes = Mutex<[TaskID: Note]>([:])

    /// The note about a task; nil if no attempt has failed or the task is over.
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

/// Limits the number of open tasks.
final class OpenTaskLimit: Sendable {
    let maximum: Int
    private let openTasks: @Sendable () -> Int
    // Submissions that the journal may not have counted yet.
    private let pending = Mutex(0)

    /// A limit; `openTasks` returns the number of unfinished tasks in the journal.
    init(_ maximum: Int, openTasks: @escaping @Sendable () -> Int) {
        self.maximum = maximum
        self.openTasks = openTasks
    }

    /// True if there is room for one more task; call ``release()`` once the journal has accepted or rejected it.
    func reserve() -> Bool {
        self.pending.withLock { pending in
            guard self.openTasks() + pending < self.maximum else { return false }
            pending += 1
            return true
        }
    }

    func release() { self.pending.withLock { $0 -= 1 } }
}

extension TransferTask {
    /// The request and its results as text; `keptBody` is the part of the response body that the daemon kept.
    func export(as format: ExportFormat, showingSecrets: Bool, keptBody: [UInt8]?) -> String {
        switch format {
        case .curl: self.curlCommand(showingSecrets: showingSecrets).line
        case .har:
            self.archive(
                showingSecrets: showingSecrets, creator: ("tidegate", TidegateVersion.version), keptBody: keptBody
            ).text
        }
    }
}

extension JournaledTaskSummary {
    /// The remaining information about the request of a task that ended earlier, as text.
    func export(as format: ExportFormat) -> String {
        let note = "the query, the header fields and the body are not kept any more"
        switch format {
        case .curl: return CurlCommand(method: self.method, url: self.url, notes: [note]).line
        case .har:
            let exchange = Exchange(
                number: max(1, self.end?.attempts ?? 1), method: self.method, url: self.url, started: self.accepted,
                lines: [.init(.note, note)], failure: self.end?.failure, status: self.end?.status)
            return HTTPArchive([exchange], creator: ("tidegate", TidegateVersion.version)).text
        }
    }
}
