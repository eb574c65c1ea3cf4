internal import TidegateCore
internal import TidegateTransfer

/// Writes what accepted tasks must not lose, in the order that durability requires.
///
/// A non-repeatable request is recorded before it is sent, an offset after its bytes, and an end before it is
/// published.
struct JournalWriter {
    /// An entry whose result the session waits for.
    enum Write: Sendable {
        /// A new number of suspensions; `done` is called when it has been applied.
        case suspensions(from: Int, to: Int, done: (@Sendable (JournalError?) -> Void)?)
        /// Permission to send a non-repeatable request.
        case sending(AttemptID)
        /// The file is about to be committed.
        case committing
        case ended
        /// Entries can be written again.
        case writable
    }

    let journal: (any JournalStorage)?
    let time: any TimeSource

    // MARK: - Lifetimes

    /// A task's lifetime so far, including the time between processes unless it was suspended.
    func livedSoFar(_ task: JournaledTask) -> Duration {
        task.suspensions > 0 ? task.life.lived : task.life.lived(at: self.lifetime(.zero))
    }

    /// The time since a lifetime was recorded, suspensions included.
    func passed(since life: TaskLifetime) -> Duration { life.lived(at: self.lifetime(.zero)) - life.lived }

    /// A lifetime recorded now.
    private func lifetime(_ lived: Duration) -> TaskLifetime {
        TaskLifetime(
            lived: lived, wall: self.time.wall(), monotonic: self.time.monotonic(), boot: self.journal?.boot ?? "")
    }

    /// Records the used part of the task's limits, so that a process that continues it does not start from zero.
    func noteAttempt(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard record.journal != nil else { return }
        tasks.add(.record(.tried(record.task.id, self.lifetime(of: record, at: tasks.now)), answer: nil))
    }

    /// A task's lifetime and the used part of its limits.
    func lifetime(of record: TaskRecord, at now: MonotonicTime) -> TaskLifetime {
        var life = self.lifetime(record.clocks.lifetime(at: now))
        life.effort = RetryProgress(
            active: record.clocks.activeTime(at: now), waited: record.clocks.waitedTime(at: now),
            charged: record.retry.counter.charged, inARow: record.retry.counter.inARow,
            free: record.retry.counter.free,
            pause: record.journal?.pausedUntil.flatMap { $0 > now ? $0 - now : nil })
        return life
    }

    /// Why a file can no longer be sent as the accepted one; nil if it can.
    static func bodyProblem(_ task: JournaledTask) -> TaskProblem? {
        guard case .file(let path, let accepted) = task.description.body else { return nil }
        do {
            let file = FileLocation(path, below: task.description.options.confinedTo)
            guard try FileIdentity.of(file).hasContents(of: accepted) else {
                return (.bodyChanged, "\(path) changed after the task was accepted")
            }
            return nil
        } catch {
            return (error.failure, FailureSentence(error.description))
        }
    }

    // MARK: - Suspensions

    /// Records a new number of suspensions, which is applied when the answer arrives.
    func setSuspensions(
        _ record: TaskRecord, _ state: JournalState, to suspensions: Int, done: (@Sendable (JournalError?) -> Void)?,
        _ tasks: inout SessionTasks
    ) {
        let (from, to) = (state.suspensions, max(0, suspensions))
        guard from != to else {
            if let done { tasks.call { done(nil) } }
            return
        }
        state.suspensions = to
        tasks.add(
            .record(
                .suspensions(record.task.id, to, self.lifetime(of: record, at: tasks.now)),
                answer: (record.number, .suspensions(from: from, to: to, done: done))))
    }

    // MARK: - Non-repeatable requests

    /// True if an attempt may reach the wire now; false if the journal must be written first.
    func mayReachWire(
        _ record: TaskRecord, attempt: AttemptID, on addresses: [IPAddress], _ tasks: inout SessionTasks
    ) -> Bool {
        guard let state = record.journal, !record.request.isIdempotent, !state.isInDoubt else { return true }
        state.awaiting = (attempt, addresses)
        tasks.add(.record(.sending(record.task.id), answer: (record.number, .sending(attempt))))
        return false
    }

    /// Handles the end of an attempt: if nothing reached the wire, another process may try again.
    func noteReach(_ record: TaskRecord, reachedWire: Bool, _ tasks: inout SessionTasks) {
        guard let state = record.journal else { return }
        if reachedWire { state.hasReachedWire = true }
        state.awaiting = nil
        self.clearDoubt(record, state, &tasks)
    }

    /// Records that nothing of the request reached the wire, so that another process may send it.
    func clearDoubt(_ record: TaskRecord, _ state: JournalState, _ tasks: inout SessionTasks) {
        guard state.isInDoubt, !state.hasReachedWire, !record.request.isIdempotent, !record.machine.isOver else {
            return
        }
        state.isInDoubt = false
        tasks.add(.record(.notSent(record.task.id), answer: nil))
    }

    // MARK: - Files

    /// Records that the file is about to be committed; false if that needs no entry.
    func recordCommit(_ record: TaskRecord, _ tasks: inout SessionTasks) -> Bool {
        guard record.journal != nil, self.journal != nil, let paths = record.paths,
            let file = try? FileIdentity.of(paths.temporary)
        else { return false }
        tasks.add(.record(.placing(record.task.id, file), answer: (record.number, .committing)))
        return true
    }

    // MARK: - Ends

    /// True if the end is written or need not be; false while the answer is awaited.
    func isEndWritten(_ record: TaskRecord, _ result: TaskResult, _ tasks: inout SessionTasks) -> Bool {
        guard let state = record.journal, !state.isPreserved, self.journal != nil else { return true }
        switch state.end {
        case .written: return true
        case .writing: return false
        case .open: break
        }
        state.end = .writing
        let end = JournaledEnd(
            outcome: result.outcome, failure: result.failure, explanation: result.explanation, status: result.status,
            bytes: result.bytes, attempts: result.attempts, at: self.time.wall(), party: result.attribution?.party)
        tasks.add(.record(.ended(record.task.id, end), answer: (record.number, .ended)))
        return false
    }
}

/// The journal writer's state of an accepted task.
final class JournalState {
    /// The task when this process adopted it.
    let task: JournaledTask
    /// The number of suspensions in the journal, including pending entries.
    var suspensions: Int
    /// True if, according to the journal, a non-repeatable request may have been sent.
    var isInDoubt: Bool
    /// True if a request has reached the wire: from then on the doubt stays.
    var hasReachedWire: Bool
    /// The attempt that waits for the journal, with its addresses; nil if none waits.
    var awaiting: (attempt: AttemptID, addresses: [IPAddress])?
    /// True if the task continues in the next process.
    var isPreserved = false
    var end = End.open
    /// Until when the server asked to be left alone (RFC 9110 10.2.3); nil if it did not.
    var pausedUntil: MonotonicTime?
    /// Tasks that start when this one ends.
    var dependents: [UInt64] = []

    /// The progress of writing the task's end.
    enum End {
        case open, writing, written
    }

    init(_ task: JournaledTask) {
        self.task = task
        self.suspensions = task.suspensions
        self.isInDoubt = task.isInDoubt
        self.hasReachedWire = task.isInDoubt
    }
}
