internal import Tidegate

/// Executes the commands of the control socket on a session with a journal.
struct SessionControl: TaskControl {
    let monitor: Monitor
    let notes: AttemptNotes
    let bodies: KeptBodies
    let limit: OpenTaskLimit
    let state: StateDirectoryPath
    /// The directories below which members of the socket's group may use files.
    let directories: [String]
    let policies: TransferPolicies
    /// When the next run of each scheduled task starts, by name.
    let nextRuns: @Sendable () async -> [String: WallTime]

    private var session: Session { self.monitor.session }

    // Limits the size of the response.
    private static let finishedTasksLimit = 1000

    func submit(
        _ submission: TaskSubmission, by caller: ControlCaller
    ) async throws(ControlRefusal) -> SubmitResponse {
        do {
            var (request, policy) = (try submission.request(), try submission.duplicatePolicy())
            self.policies.apply(to: &request)
            if caller == .member, submission.cookies == true {
                throw ControlRefusal(.forbidden, "\"cookies\" is for root and the daemon's user: all tasks share them")
            }
            if caller == .member { request.options.confinedTo = self.directories }
            try self.checkFiles(of: submission, request)
            guard self.limit.reserve() else { return try await self.answerWhenFull(submission, policy) }
            defer { self.limit.release() }
            return try await self.session.submit(
                request, key: submission.key, onDuplicate: policy, isSuspended: submission.suspended ?? false)
        } catch {
            throw ControlRefusal(error, or: .malformed, "\(error)")
        }
    }

    // A task that is already in the journal takes no additional room.
    private func answerWhenFull(
        _ submission: TaskSubmission, _ policy: DuplicatePolicy
    ) async throws(ControlRefusal) -> SubmitResponse {
        if policy == .keep, let key = submission.key, let known = try await self.list(.keyed(key)).first {
            return SubmitResponse(id: known.id, isNew: false)
        }
        throw ControlRefusal(
            .tooManyTasks,
            "\(self.limit.maximum) tasks are open, as many as journal.max_open_tasks allows: wait for some to end, or "
                + "cancel some")
    }

    // A body could overwrite the journal, or the journal could be sent with its secrets.
    private func checkFiles(of submission: TaskSubmission, _ request: TaskRequest) throws(ControlRefusal) {
        let files = [("output", submission.output), ("bodyFile", submission.bodyFile), ("caFile", submission.caFile)]
        for (member, file) in files {
            guard let file else { continue }
            // Checked first, so that the answer does not tell members which files exist.
            guard request.allows(file) else {
                throw ControlRefusal(
                    .forbidden,
                    "\"\(member)\": \(file) is not below a directory of control.directories, to which members of the "
                        + "socket's group are confined")
            }
            guard self.state.contains(file) else { continue }
            throw ControlRefusal(.malformed, "\"\(member)\": \(file) is in the daemon's state directory")
        }
    }

    func tasks(after: TaskID?, atMost limit: Int) async throws(ControlRefusal) -> TaskSlice<TaskDocument> {
        let ended = try await self.list(.ended(atMost: SessionControl.finishedTasksLimit))
        let live = self.session.allTasks
        let ids = Set(live.map(\.id))
        let known =
            live.map { task in KnownTask(id: task.id, name: task.request.options.name) { task.info } }
            + ended.filter { !ids.contains($0.id) }.map { task in
                KnownTask(id: task.id, name: task.name) { TaskInfo(task) }
            }
        let slice = TaskSlice(of: known, after: after, atMost: limit, id: \.id, make: { $0 })
        var kept = Dictionary(ended.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for task in try await self.list(.among(slice.tasks.map(\.id))) { kept[task.id] = task }
        let runs = await self.nextRuns()
        var newest: [String: TaskID] = [:]
        for task in known {
            if let name = task.name, runs[name] != nil { newest[name] = max(newest[name] ?? task.id, task.id) }
        }
        return slice.map { task in
            let next = task.name.flatMap { newest[$0] == task.id ? runs[$0] : nil }
            return self.annotated(TaskDocument(task.info(), kept[task.id]), task.id, nextRun: next)
        }
    }

    private struct KnownTask: Sendable {
        let id: TaskID
        let name: String?
        let info: @Sendable () -> TaskInfo
    }

    /// The document with what only the daemon knows: the responsible party, and what happens next.
    private func annotated(_ document: TaskDocument, _ id: TaskID, nextRun: WallTime?) -> TaskDocument {
        var document = document
        document.nextRun = nextRun?.description
        guard document.outcome == nil else { return document }
        if let note = self.notes[id] {
            document.party = note.party?.rawValue
            if document.waitsFor == HoldReason.backoff.rawValue {
                document.detail = document.detail ?? note.reason
                document.nextRun = note.retryAt?.description
            }
        }
        let global = self.monitor.status.global
        if document.waitsFor == HoldReason.path.rawValue, global.level < .routed, let reason = global.reason {
            document.party = reason.party.rawValue
        }
        return document
    }

    func task(_ id: TaskID) async throws(ControlRefusal) -> TaskDocument {
        let kept = try await self.list(.task(id)).first
        guard let info = self.session.task(withID: id)?.info ?? kept.map({ TaskInfo($0) }) else {
            throw ControlRefusal(.unknown, "no such task: \(id)")
        }
        let runs = await self.nextRuns()
        return self.annotated(TaskDocument(info, kept), id, nextRun: info.name.flatMap { runs[$0] })
    }

    func body(_ id: TaskID, for caller: ControlCaller) async throws(ControlRefusal) -> TaskBody {
        let task = try await self.task(id)
        guard task.outcome != nil else {
            throw ControlRefusal(.unavailable, "the task \(id) is not over; its body is kept once it is")
        }
        if let file = task.file, task.outcome == TaskOutcome.success.rawValue {
            return try await self.file(file, of: id, for: caller)
        }
        // The session keeps the beginning of a rejected response.
        let refused = self.session.task(withID: id)?.body() ?? []
        if let bytes = self.bodies[id] ?? (refused.isEmpty ? nil : refused) { return .kept(bytes) }
        // The bytes of a rejected response are not counted; its body lives as long as the task in the session.
        let isForgotten = task.status != nil && task.outcome != TaskOutcome.success.rawValue && !self.isKnown(id)
        guard task.bytes > 0 || isForgotten else { return .kept([]) }
        throw ControlRefusal(
            .unknown,
            "the body of the task \(id) is not kept any more: the daemon keeps the last \(KeptBodies.mostBodies) "
                + "in memory, until it is restarted")
    }

    private func file(
        _ path: String, of id: TaskID, for caller: ControlCaller
    ) async throws(ControlRefusal) -> TaskBody {
        do {
            guard let file = try await self.session.downloadedFile(of: id), caller == .owner || file.isConfined else {
                throw ControlRefusal(
                    .forbidden,
                    "the file \(path) is for root and the daemon's user: the task \(id) is not confined to "
                        + "control.directories")
            }
            return .file(try file.open())
        } catch {
            throw ControlRefusal(error, or: .unknown, "the file of the task \(id) cannot be read: \(error)")
        }
    }

    func export(
        _ id: TaskID, as format: ExportFormat, showingSecrets: Bool
    ) async throws(ControlRefusal) -> String {
        if let task = self.session.task(withID: id) {
            return task.export(as: format, showingSecrets: showingSecrets, keptBody: self.bodies[id])
        }
        guard let kept = try await self.list(.task(id)).first else {
            throw ControlRefusal(.unknown, "no such task: \(id)")
        }
        return kept.export(as: format)
    }

    private func isKnown(_ id: TaskID) -> Bool { self.session.task(withID: id) != nil }

    func command(_ command: ControlCommand, _ id: TaskID) async throws(ControlRefusal) -> TaskDocument {
        do {
            switch command {
            case .suspend: _ = try await self.session.suspend(id)
            case .resume: _ = try await self.session.resume(id)
            case .cancel: _ = try await self.session.cancel(id)
            }
        } catch {
            throw ControlRefusal(error)
        }
        return try await self.task(id)
    }

    private func list(_ question: JournalQuestion) async throws(ControlRefusal) -> [JournaledTaskSummary] {
        do {
            return try await self.session.list(question)
        } catch {
            throw ControlRefusal(error)
        }
    }
}

extension TaskDocument {
    /// A task with its journal entry, if there is one.
    fileprivate init(_ info: TaskInfo, _ kept: JournaledTaskSummary?) {
        self.init(info)
        self.durable = kept != nil
        self.key = kept?.key
        guard let end = kept?.end else { return }
        (self.attempts, self.ended, self.status) = (end.attempts, end.at.description, end.status)
        (self.reason, self.explanation) = (end.failure?.rawValue, end.explanation)
        self.party = end.party?.rawValue ?? self.party
    }
}

extension TaskInfo {
    /// A task of an earlier process.
    init(_ task: JournaledTaskSummary) {
        self.init(
            id: task.id, name: task.name, key: task.key, kind: task.kind, method: task.method, url: task.url,
            state: task.end.map { .completed($0.outcome) } ?? .suspended,
            progress: TransferProgress(
                offset: task.end?.bytes ?? task.offset, expected: task.total, attempt: task.end?.attempts ?? 0),
            created: task.accepted, file: task.file)
    }
}

extension ControlRefusal {
    init(_ error: TaskError) {
        let reason: Reason =
            switch error.reason {
            case .invalidRequest: .malformed
            case .diskFull: .diskFull
            // A missing file may exist when the task is submitted again.
            default: .unavailable
            }
        self.init(reason, error.underlying)
    }

    /// The refusal for an error; `reason` and `message` apply to errors without one.
    fileprivate init(_ error: any Error, or reason: Reason, _ message: String) {
        let known = error as? ControlRefusal ?? (error as? TaskError).map { ControlRefusal($0) }
        self = known ?? ControlRefusal(reason, message)
    }
}
