internal import Tidegate
internal import TidegateCore

/// The commands of the control socket, on a session with a journal.
struct SessionControl: TaskControl {
    let session: Session

    // Limits the size of the response.
    private static let finishedTasksLimit = 1000

    func submit(_ submission: TaskSubmission) async throws(ControlRefusal) -> SubmitResponse {
        do {
            let (request, policy) = (try submission.request(), try submission.duplicatePolicy())
            return try await self.session.submit(
                request, key: submission.key, onDuplicate: policy, isSuspended: submission.suspended ?? false)
        } catch let error as TaskError {
            throw ControlRefusal(error)
        } catch {
            throw ControlRefusal(.malformed, "\(error)")
        }
    }

    func tasks() async throws(ControlRefusal) -> [TaskDocument] {
        let live = self.session.tasks()
        var kept: [TaskID: JournaledTask] = [:]
        for question in [JournalQuestion.unfinished, .ended(atMost: SessionControl.finishedTasksLimit)] {
            for task in try await self.find(question) { kept[task.id] = task }
        }
        var infos = Dictionary(live.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for (id, task) in kept where infos[id] == nil { infos[id] = TaskInfo(task) }
        return infos.values.sorted { $0.id < $1.id }.map { TaskDocument($0, kept[$0.id]) }
    }

    func task(_ id: TaskID) async throws(ControlRefusal) -> TaskDocument {
        let kept = try await self.find(.task(id)).first
        guard let info = self.session.task(withID: id)?.info ?? kept.map({ TaskInfo($0) }) else {
            throw ControlRefusal(.unknown, "no such task: \(id)")
        }
        return TaskDocument(info, kept)
    }

    func command(_ command: TaskCommand, _ id: TaskID) async throws(ControlRefusal) -> TaskDocument {
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

    private func find(_ question: JournalQuestion) async throws(ControlRefusal) -> [JournaledTask] {
        do {
            return try await self.session.find(question)
        } catch {
            throw ControlRefusal(error)
        }
    }
}

extension TaskDocument {
    /// A task with what the journal knows of it; nil if it is not there.
    fileprivate init(_ info: TaskInfo, _ kept: JournaledTask?) {
        self.init(info)
        self.durable = kept != nil
        self.key = kept?.description.key
        guard let end = kept?.end else { return }
        (self.attempts, self.ended, self.status) = (end.attempts, end.at.description, end.status)
        (self.reason, self.explanation) = (end.failure?.rawValue, end.explanation)
    }
}

extension TaskInfo {
    /// A task of an earlier process.
    init(_ task: JournaledTask) {
        var file: String?
        if case .file(let path, _) = task.description.destination { file = path }
        let kind: TaskKind =
            if task.description.body != .none { .upload } else { file == nil ? .data : .download }
        let bytes = task.end?.bytes ?? task.hold?.offset ?? 0
        self.init(
            id: task.id, name: task.description.name, kind: kind, method: task.description.method,
            url: URLRedaction().text(of: task.description.url),
            state: task.end.map { .completed($0.outcome) } ?? .suspended,
            progress: TransferProgress(
                offset: bytes, expected: task.hold?.total, attempt: task.end?.attempts ?? 0),
            created: task.accepted, file: file)
    }
}

extension ControlRefusal {
    init(_ error: TaskError) {
        let reason: Reason =
            switch error.reason {
            case .invalidRequest: .malformed
            case .diskFull: .diskFull
            // A missing file may exist at the next attempt to submit.
            default: .unavailable
            }
        self.init(reason, error.underlying)
    }
}
