public import TidegateCore

/// Tasks that survive their process, in sessions that have a journal.
extension Session {
    /// A task that was handed in.
    public struct Submission: Sendable {
        /// Its id; of the known one where the key was known.
        public let id: TaskID
        /// False where the key was known and the known task stays.
        public let isNew: Bool
    }

    /// Accepts a task: once this returns, the task is carried out although the process may be killed meanwhile.
    ///
    /// With a key the call may be repeated: a second one with the same key finds the task of the first one. A request
    /// that may not be sent twice is sent at most once; where a crash leaves open whether it was, the task ends as
    /// `outcomeUnknown`. The session's default headers are kept with the task; `options` are this process's only.
    /// - Throws: ``TaskError``: `invalidRequest` or `fileError` where the request cannot be kept, `diskFull` where the
    ///   journal's disk is full, `internal` where there is no journal; nothing is accepted then.
    public func submit(
        _ request: TaskRequest, key: String? = nil, onDuplicate: DuplicatePolicy = .keep, isSuspended: Bool = false,
        options: TaskOptions? = nil
    ) async throws(TaskError) -> Submission {
        guard let journal = self.surroundings.journal else {
            throw TaskError(reason: .internal, underlying: "the session keeps no journal")
        }
        let description = try TaskDescription(self.defaultHeaders.applied(to: request), key: key)
        let time = self.surroundings.time
        let wall = time.wall()
        let task = JournaledTask(
            id: self.surroundings.dice.taskID(at: wall), accepted: wall, description: description,
            suspensions: isSuspended ? 1 : 0,
            life: TaskLifetime(lived: .zero, wall: wall, monotonic: time.monotonic(), boot: journal.boot))
        let answer = await withCheckedContinuation { continuation in
            // On the journal's thread, in the order in which tasks were accepted: one that is replaced, waited for or
            // found by its key has been taken over by then, whoever is told first.
            journal.accept(task, onDuplicate: onDuplicate) { answer in
                continuation.resume(returning: Result { () throws(TaskError) in try self.take(answer, options) })
            }
        }
        return try answer.get()
    }

    private func take(
        _ answer: Result<Acceptance, JournalError>, _ options: TaskOptions?
    ) throws(TaskError) -> Submission {
        switch answer {
        case .failure(let error): throw TaskError(error)
        case .success(.kept(let known)): return Submission(id: known.id, isNew: false)
        case .success(.accepted(let task, let replaced)):
            for id in replaced { self.handle(id)?.cancel() }
            try self.takeOver(task, options.map { TaskHandlers($0, call: nil) })
            return Submission(id: task.id, isNew: true)
        }
    }

    /// Goes on with every task that an earlier process left; gives how many there are.
    ///
    /// - Throws: ``TaskError`` where the journal cannot be read.
    @discardableResult
    public func restore() async throws(TaskError) -> Int {
        let tasks = try await self.find(.unfinished)
        for task in tasks {
            do {
                try self.takeOver(task)
            } catch {
                self.bury(task, error)
            }
        }
        return tasks.count
    }

    // An older version took what this one does not: the task ends, and the others go on.
    private func bury(_ task: JournaledTask, _ error: TaskError) {
        let end = JournaledEnd(
            outcome: .failure, failure: error.reason, explanation: error.underlying,
            at: self.surroundings.time.wall())
        self.surroundings.journal?.record(.ended(task.id, end)) { _ in }
    }

    /// Looks into the journal.
    ///
    /// - Throws: ``TaskError`` where there is no journal, or where it cannot be read.
    public func find(_ question: JournalQuestion) async throws(TaskError) -> [JournaledTask] {
        guard let journal = self.surroundings.journal else {
            throw TaskError(reason: .internal, underlying: "the session keeps no journal")
        }
        let answer = await withCheckedContinuation { continuation in
            journal.find(question) { continuation.resume(returning: $0) }
        }
        do {
            return try answer.get()
        } catch {
            throw TaskError(error)
        }
    }

    /// Suspends a task however often it was resumed, and returns once that is durable; false where it is unknown.
    ///
    /// - Throws: ``TaskError`` where the journal cannot keep it; nothing has changed then.
    public func suspend(_ id: TaskID) async throws(TaskError) -> Bool {
        try await self.order(id) { max(1, $0) }
    }

    /// Takes every suspension of a task back, and returns once that is durable; false where the task is unknown.
    ///
    /// - Throws: ``TaskError`` where the journal cannot keep it; nothing has changed then.
    public func resume(_ id: TaskID) async throws(TaskError) -> Bool {
        try await self.order(id) { _ in 0 }
    }

    /// Cancels a task, and returns once it is over; false where it is unknown.
    ///
    /// - Throws: ``TaskError`` where the session ended first: the next one goes on with the task.
    public func cancel(_ id: TaskID) async throws(TaskError) -> Bool {
        guard let task = self.handle(id) else { return false }
        task.cancel()
        _ = await task.result()
        guard task.journaled != nil, let kept = try await self.find(.task(id)).first else { return true }
        if kept.end == nil { throw TaskError(JournalError.ending) }
        return true
    }

    private func order(_ id: TaskID, _ change: @escaping @Sendable (Int) -> Int) async throws(TaskError) -> Bool {
        guard let task = self.handle(id) else { return false }
        let error = await withCheckedContinuation { (continuation: CheckedContinuation<JournalError?, Never>) in
            let isSent = self.surroundings.line.send(
                .order(task.number, change) { continuation.resume(returning: $0) })
            if !isSent { continuation.resume(returning: .ending) }
        }
        if let error { throw TaskError(error) }
        return true
    }

    private func takeOver(_ journaled: JournaledTask, _ traits: TaskHandlers? = nil) throws(TaskError) {
        let request = try journaled.description.request()
        let line = self.surroundings.line
        let board = self.board(of: request, at: journaled.accepted)
        let task = self.surroundings.registry.add {
            TransferTask(
                id: journaled.id, number: $0, request: request, board: board, line: line,
                journaled: JournalRef(journaled), traits: traits)
        }
        // A session that is over leaves the task to the next one.
        if let task { line.send(.adopt(task)) }
    }
}

extension JournalError {
    static let ending = JournalError(.closed, "the session is ending: the next one goes on with its tasks as they are")
}

extension TaskError {
    init(_ error: JournalError) {
        let reason: TaskFailure =
            switch error.reason {
            case .diskFull: .diskFull
            case .disk, .closed: .internal
            }
        self.init(reason: reason, underlying: error.description)
    }
}
