public import TidegateCore

/// Tasks that survive their process, in sessions that have a journal.
extension Session {
    /// Accepts a task: after this returns, the task is executed even if the process is killed in the meantime.
    ///
    /// With a key the call may be repeated: another call with the same key finds the task of the first one. A
    /// non-repeatable request is sent at most once; if a crash leaves open whether it was sent, the task ends as
    /// `outcomeUnknown`.
    ///
    /// The session's default headers are stored with the task; `options` only apply in this process. A body in memory
    /// has at most 16 MiB; a larger one must be in a file with an absolute path.
    /// - Throws: ``TaskError``: `invalidRequest` or `fileError` if the request cannot be stored, `diskFull` if the
    ///   journal's disk is full, `internal` without a journal; then nothing is accepted.
    public func submit(
        _ request: TaskRequest, key: String? = nil, onDuplicate: DuplicatePolicy = .keep, isSuspended: Bool = false,
        options: TaskOptions? = nil
    ) async throws(TaskError) -> SubmitResponse {
        guard let journal = self.dependencies.journal else {
            throw TaskError(reason: .internal, underlying: "the session keeps no journal")
        }
        var request = self.prepared(request)
        // The span starts on the journal's thread, or in another process.
        if request.trace == nil { request.options.trace = self.dependencies.tracer?.callersTrace }
        let description = try TaskDescription(request, key: key)
        let time = self.dependencies.time
        let wall = time.wall()
        let task = JournaledTask(
            id: self.dependencies.random.taskID(at: wall), accepted: wall, description: description,
            suspensions: isSuspended ? 1 : 0,
            life: TaskLifetime(lived: .zero, wall: wall, monotonic: time.monotonic(), boot: journal.boot))
        let answer = await withCheckedContinuation { continuation in
            // Runs on the journal's thread, in the order of acceptance: a task that is replaced, awaited or found by
            // its key has been adopted by then.
            journal.accept(task, onDuplicate: onDuplicate) { answer in
                continuation.resume(returning: Result { () throws(TaskError) in try self.take(answer, options) })
            }
        }
        return try answer.get()
    }

    private func take(
        _ answer: Result<Acceptance, JournalError>, _ options: TaskOptions?
    ) throws(TaskError) -> SubmitResponse {
        switch answer {
        case .failure(let error): throw TaskError(error)
        case .success(.kept(let known)): return SubmitResponse(id: known, isNew: false)
        case .success(.accepted(let task, let replaced)):
            for id in replaced { self.task(withID: id)?.cancel() }
            try self.takeOver(task, options)
            return SubmitResponse(id: task.id, isNew: true)
        }
    }

    /// Continues every task that an earlier process left; returns their number.
    ///
    /// Publishes `session.restoredTasksEnded` once, when all of them have ended (immediately, if the journal holds no
    /// task).
    ///
    /// - Throws: ``TaskError`` if the journal cannot be read, or if the session has no journal.
    @discardableResult
    public func restore() async throws(TaskError) -> Int {
        let tasks = try await self.find(.unfinished)
        for task in tasks {
            do {
                try self.takeOver(task, isRestored: true)
            } catch {
                // An older version accepted a task that this one rejects: the task ends, and the others continue.
                let end = JournaledEnd(
                    outcome: .failure, failure: error.reason, explanation: error.underlying,
                    at: self.dependencies.time.wall())
                self.dependencies.journal?.record(.ended(task.id, end)) { _ in }
            }
        }
        if let count = self.dependencies.registry.restored() {
            self.dependencies.bus.publish(.session(.restoredTasksEnded(count: count)))
        }
        return tasks.count
    }

    /// Finds tasks in the journal.
    ///
    /// - Throws: ``TaskError`` if there is no journal or it cannot be read.
    package func find(_ question: JournalQuestion) async throws(TaskError) -> [JournaledTask] {
        try await self.ask { $0.find(question, completion: $1) }
    }

    /// Finds tasks in the journal for a list; unreadable rows are left out.
    ///
    /// - Throws: ``TaskError`` if there is no journal or it cannot be read.
    package func list(_ question: JournalQuestion) async throws(TaskError) -> [JournaledTaskSummary] {
        try await self.ask { $0.list(question, completion: $1) }
    }

    /// The file with a task's body; nil for a task without a file.
    ///
    /// - Throws: ``TaskError`` if there is no journal or it cannot be read.
    package func downloadedFile(of id: TaskID) async throws(TaskError) -> DownloadedFile? {
        DownloadedFile(self.task(withID: id), try await self.find(.task(id)).first)
    }

    private func ask<Answer: Sendable>(
        _ question: (any JournalStorage, @escaping @Sendable (Result<Answer, JournalError>) -> Void) -> Void
    ) async throws(TaskError) -> Answer {
        guard let journal = self.dependencies.journal else {
            throw TaskError(reason: .internal, underlying: "the session keeps no journal")
        }
        let answer = await withCheckedContinuation { continuation in
            question(journal) { continuation.resume(returning: $0) }
        }
        return try answer.mapError { TaskError($0) }.get()
    }

    /// Suspends a task regardless of earlier resumes, and returns once that is durable; false if the task is unknown.
    ///
    /// - Throws: ``TaskError`` if the journal cannot record it; then nothing has changed.
    public func suspend(_ id: TaskID) async throws(TaskError) -> Bool {
        try await self.setSuspensions(id) { max(1, $0) }
    }

    /// Removes every suspension of a task, and returns once that is durable; false if the task is unknown.
    ///
    /// - Throws: ``TaskError`` if the journal cannot record it; then nothing has changed.
    public func resume(_ id: TaskID) async throws(TaskError) -> Bool {
        try await self.setSuspensions(id) { _ in 0 }
    }

    /// Cancels a task, and returns when it has ended; false if the task is unknown.
    ///
    /// - Throws: ``TaskError`` if the session ended first: the next one continues the task.
    public func cancel(_ id: TaskID) async throws(TaskError) -> Bool {
        guard let task = self.task(withID: id) else { return false }
        task.cancel()
        _ = await task.result()
        guard task.journaled != nil, let kept = try await self.find(.task(id)).first else { return true }
        if kept.end == nil { throw TaskError(JournalError.ending) }
        return true
    }

    private func setSuspensions(
        _ id: TaskID, _ change: @escaping @Sendable (Int) -> Int
    ) async throws(TaskError) -> Bool {
        guard let task = self.task(withID: id) else { return false }
        let error = await withCheckedContinuation { (continuation: CheckedContinuation<JournalError?, Never>) in
            let isSent = self.dependencies.mailbox.send(
                .setSuspensions(task, change) { continuation.resume(returning: $0) })
            if !isSent { continuation.resume(returning: .ending) }
        }
        if let error { throw TaskError(error) }
        return true
    }

    private func takeOver(
        _ journaled: JournaledTask, _ options: TaskOptions? = nil, isRestored: Bool = false
    ) throws(TaskError) {
        var request = try journaled.description.request()
        let (registry, mailbox) = (self.dependencies.registry, self.dependencies.mailbox)
        // A session that has ended leaves the task to the next one.
        guard let number = registry.reserve() else { return }
        let shared = self.sharedState(of: request, at: journaled.accepted)
        let span = self.dependencies.tracer?.trace(&request, of: journaled.id, url: shared.url)
        let task = TransferTask(
            id: journaled.id, number: number, request: request, shared: shared, controller: mailbox,
            journaled: Indirect(journaled), handlers: .keeping(options, span: span))
        self.publish(.created(method: request.method, url: task.shared.url), of: task)
        _ = registry.add(task, isRestored: isRestored)
        mailbox.send(.adopt(task))
    }
}
