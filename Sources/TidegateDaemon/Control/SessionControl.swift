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
            let made = try await self.session.submit(
                request, key: submission.key, onDuplicate: policy, isSuspended: submission.suspended ?? false)
            return SubmitResponse(id: made.id, isNew: made.isNew)
        } catch let error as TaskError {
            throw ControlRefusal(error)
        } catch {
            throw ControlRefusal(.malformed, "\(error)")
        }
    }

    func tasks() async throws(ControlRefusal) -> [JSONValue] {
        let live = self.session.tasks()
        var kept: [TaskID: JournaledTask] = [:]
        for question in [JournalQuestion.unfinished, .ended(atMost: SessionControl.finishedTasksLimit)] {
            for task in try await self.find(question) { kept[task.id] = task }
        }
        var infos = Dictionary(live.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for (id, task) in kept where infos[id] == nil { infos[id] = TaskInfo(task) }
        return infos.values.sorted { $0.id < $1.id }.map { SessionControl.json($0, kept[$0.id]) }
    }

    func task(_ id: TaskID) async throws(ControlRefusal) -> JSONValue {
        let kept = try await self.find(.task(id)).first
        guard let info = self.session.task(withID: id)?.info ?? kept.map({ TaskInfo($0) }) else {
            throw ControlRefusal(.unknown, "no such task: \(id)")
        }
        guard case .object(let members) = SessionControl.json(info, kept) else { return .null }
        return .object([.init("schema", 1)] + members)
    }

    func command(_ command: TaskCommand, _ id: TaskID) async throws(ControlRefusal) -> JSONValue {
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

    private static func json(_ info: TaskInfo, _ kept: JournaledTask?) -> JSONValue {
        guard case .object(let members) = info.json else { return .null }
        let end = kept?.end
        return .object(
            members + [
                .init("key", .optional(kept?.description.key)), .init("durable", .bool(kept != nil)),
                .init("attempts", .optional(end?.attempts)), .init("ended", .optional(end?.at.description)),
                .init("status", .optional(end?.status)),
                .init("reason", .optional(end?.failure?.rawValue)), .init("explanation", .optional(end?.explanation)),
            ])
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
