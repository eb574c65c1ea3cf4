internal import TidegateCore
internal import TidegateTransfer

/// Writes what accepted tasks must not lose, in the order that durability asks for: a request that may not be sent
/// twice is written down before it is sent, an offset after its bytes, an end before it is published.
struct JournalWriter {
    /// An entry whose answer the session waits for.
    enum Write: Sendable {
        /// The count of suspensions; `done` is called when it has been applied.
        case suspensions(from: Int, to: Int, done: (@Sendable (JournalError?) -> Void)?)
        /// Leave to send a request that may not be sent twice.
        case sending(AttemptID)
        /// The file is about to be committed.
        case committing
        case ended
        /// Entries can be written again.
        case writable
    }

    /// What the journal answered.
    struct Event: Sendable {
        let write: Write
        let error: JournalError?
    }

    /// What an answer about sending leads to.
    enum SendDecision {
        case launch([IPAddress])
        /// The attempt cannot start before the journal can be written again.
        case waitForDisk(JournalError)
        case nothing
    }

    /// What keeps a task from sending the file that was accepted.
    struct BodyProblem {
        let failure: TaskFailure
        let message: String
    }

    let journal: (any JournalStorage)?
    let time: any TimeSource
    let deliver: @Sendable (_ task: UInt64, Event) -> Void

    private func write(_ entry: JournalEntry, of task: UInt64, as write: Write) {
        let deliver = self.deliver
        self.journal?.record(entry) { result in
            var issue: JournalError?
            if case .failure(let error) = result { issue = error }
            deliver(task, Event(write: write, error: issue))
        }
    }

    /// Reports back once entries can be written again.
    func awaitDisk(_ task: UInt64) {
        let deliver = self.deliver
        self.journal?.whenWritable { deliver(task, Event(write: .writable, error: nil)) }
    }

    // MARK: - Lifetimes

    /// How long a task has lived, time between processes included unless it was suspended.
    func livedSoFar(_ task: JournaledTask) -> Duration {
        task.suspensions > 0 ? task.life.lived : task.life.lived(at: self.lifetime(.zero, nil))
    }

    /// A lifetime as of now.
    func lifetime(_ lived: Duration, _ progress: RetryProgress?) -> TaskLifetime {
        var life = TaskLifetime(
            lived: lived, wall: self.time.wall(), monotonic: self.time.monotonic(), boot: self.journal?.boot ?? "")
        life.effort = progress
        return life
    }

    /// Writes down what the task has used up: another process that goes on with it must not give it everything again.
    func noteAttempt(_ id: TaskID, _ life: TaskLifetime) { self.journal?.record(.tried(id, life)) { _ in } }

    /// What keeps a file from being sent as the one that was accepted; nil if nothing does.
    static func bodyProblem(_ task: JournaledTask) -> BodyProblem? {
        guard case .file(let path, let accepted) = task.description.body else { return nil }
        do {
            let file = FileLocation(path, below: task.description.options.confinedTo)
            guard try FileIdentity.of(file).hasContents(of: accepted) else {
                return BodyProblem(
                    failure: .bodyChanged, message: "\(path) changed after the task was accepted")
            }
            return nil
        } catch {
            return BodyProblem(failure: error.failure, message: error.description)
        }
    }

    // MARK: - Suspensions

    /// Writes down another count of suspensions; it is applied when the answer comes.
    func setSuspensions(
        _ state: JournalState, of task: TransferTask, _ change: (Int) -> Int, _ life: () -> TaskLifetime,
        done: (@Sendable (JournalError?) -> Void)?
    ) {
        let (from, to) = (state.suspensions, max(0, change(state.suspensions)))
        guard from != to else { return done?(nil) ?? () }
        state.suspensions = to
        self.write(
            .suspensions(task.id, to, life()), of: task.number, as: .suspensions(from: from, to: to, done: done))
    }

    // MARK: - Sending what may not be sent twice

    /// True if an attempt may reach the wire now; false if the journal is written first.
    func mayReachWire(
        _ state: JournalState, of task: TransferTask, attempt: AttemptID, on addresses: [IPAddress]
    ) -> Bool {
        guard !task.request.isIdempotent, !state.isInDoubt else { return true }
        state.awaiting = (attempt, addresses)
        self.write(.sending(task.id), of: task.number, as: .sending(attempt))
        return false
    }

    /// The journal has answered about an attempt; `waiting` is the attempt that has not been launched yet.
    func sendingAnswered(
        _ answer: (attempt: AttemptID, error: JournalError?), _ state: JournalState, of task: TransferTask,
        waiting: AttemptID?, isOver: Bool
    ) -> SendDecision {
        state.isInDoubt = answer.error == nil
        guard let awaiting = state.awaiting, awaiting.attempt == answer.attempt, waiting == answer.attempt else {
            // The attempt is gone. A later one may have asked meanwhile, and its answer is still to come.
            if state.awaiting == nil { self.clearDoubt(state, of: task, isOver: isOver) }
            return .nothing
        }
        state.awaiting = nil
        return answer.error.map { .waitForDisk($0) } ?? .launch(awaiting.addresses)
    }

    /// An attempt is over: if nothing has reached the wire yet, another process may try again.
    func noteReach(_ state: JournalState, of task: TransferTask, reachedWire: Bool, isOver: Bool) {
        if reachedWire { state.hasReachedWire = true }
        state.awaiting = nil
        self.clearDoubt(state, of: task, isOver: isOver)
    }

    private func clearDoubt(_ state: JournalState, of task: TransferTask, isOver: Bool) {
        guard state.isInDoubt, !state.hasReachedWire, !task.request.isIdempotent, !isOver else { return }
        state.isInDoubt = false
        self.journal?.record(.notSent(task.id)) { _ in }
    }

    // MARK: - Files

    /// Where the body goes on by the journal's record; nil if nothing can be continued.
    static func resumePoint(_ task: JournaledTask) -> ResumePoint? {
        task.hold.flatMap { $0.isUsable ? $0 : nil }
    }

    /// The entry that promises so many bytes.
    static func offsetEntry(_ id: TaskID, _ partial: PartialBody, offset: Int64, _ life: TaskLifetime) -> JournalEntry {
        .held(id, partial.point(at: offset), life)
    }

    /// Writes down that the file is about to be committed; false if it can be committed without.
    func recordCommit(of task: TransferTask, _ paths: DownloadPaths) -> Bool {
        guard let journal = self.journal, let file = try? FileIdentity.of(paths.temporary) else { return false }
        let (deliver, number) = (self.deliver, task.number)
        journal.record(.placing(task.id, file)) { _ in
            // Without the entry the file is only fetched again after a crash.
            deliver(number, Event(write: .committing, error: nil))
        }
        return true
    }

    /// True if an earlier process had committed the file and could not say so any more.
    static func isCommitted(_ task: JournaledTask, at paths: DownloadPaths?) -> Bool {
        guard let file = task.placing, let paths, let existing = try? FileIdentity.of(paths.destination) else {
            return false
        }
        return existing == file
    }

    // MARK: - Ends

    /// True once the end is written, or need not be; false while the answer is awaited.
    func isEndWritten(_ state: JournalState, of task: TransferTask, _ result: () -> TaskResult) -> Bool {
        guard !state.isPreserved, self.journal != nil else { return true }
        switch state.end {
        case .written: return true
        case .writing: return false
        case .open: break
        }
        state.end = .writing
        let result = result()
        let end = JournaledEnd(
            outcome: result.outcome, failure: result.failure, explanation: result.explanation, status: result.status,
            bytes: result.bytes, attempts: result.attempts, at: self.time.wall(), party: result.attribution?.party)
        self.write(.ended(task.id, end), of: task.number, as: .ended)
        return false
    }

    /// The journal has answered about the end; gives the error if that could not be written and is tried again.
    func endAnswered(_ state: JournalState, _ task: UInt64, _ error: JournalError?) -> JournalError? {
        guard let error, error.reason != .closed else {
            state.end = .written
            // If the result could not be persisted, keep the task: the next process will run it again.
            if error != nil { state.isPreserved = true }
            return nil
        }
        // A published end must be found after the next crash, too.
        state.end = .open
        self.awaitDisk(task)
        return error
    }
}
