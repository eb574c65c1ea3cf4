internal import TidegateCore
internal import TidegateTransfer

/// Executes the effects of the session's state: on the engine, the bus, the journal, the disk and the app's own code.
final class EffectRunner {
    private let engine: TransferEngine
    private let delegate: DelegateDispatcher
    private let given: SessionDependencies
    /// Pending hooks by task.
    private var questions: [UInt64: Task<Void, Never>] = [:]
    /// The tasks whose states must be shown.
    private var changed = ReusedQueue<TaskRecord>()
    private static let mostChanged = 64
    /// The ended tasks.
    ///
    /// Their results become available to waiting callers after their last events are published.
    private var finished = ReusedQueue<(task: TransferTask, result: TaskResult, resumeData: Indirect<ResumeData>?)>()
    /// Failed effects, in order.
    private var inputs = ReusedQueue<SessionInput>()

    init(_ engine: TransferEngine, _ given: SessionDependencies) {
        self.engine = engine
        self.delegate = given.delegate
        self.given = given
    }

    /// The next input caused by an effect; nil after the last one.
    func takeInput() -> SessionInput? { self.inputs.takeFirst() }

    /// Publishes pending events, and then the states of their tasks.
    func flush(_ queue: inout EffectQueue) {
        self.publish(&queue.events)
        while let record = self.changed.takeFirst() { record.show() }
        while let end = self.finished.takeFirst() { end.task.finish(end.result, resumeData: end.resumeData) }
    }

    // Publishes the events of one turn together; the session's own subscribers receive those of tasks.
    private func publish(_ events: inout ReusedQueue<Event.Payload>) {
        let subscribers = self.given.mailbox.events
        guard subscribers.isOpen else { return self.given.bus.publish(events.count) { events.takeFirst() } }
        var own = ReusedQueue<Event.Payload>()
        self.given.bus.publish(events.count) {
            let event = events.takeFirst()
            if case .task? = event, let event { own.append(event) }
            return event
        }
        subscribers.publish(own.count) { own.takeFirst() }
    }

    func run(_ effect: SessionEffect, _ queue: inout EffectQueue) {
        switch effect {
        case .trace(let span, let change): span.record(change)
        case .show(let record):
            self.changed.append(record)
            // Bursts are published in parts, so that subscribers can keep up.
            if self.changed.count >= EffectRunner.mostChanged { self.flush(&queue) }
        case .showProgress(let record): record.showProgress()
        case .showWaiting(let task, let state, let reason):
            self.flush(&queue)
            task.shared.update { shared in
                shared.snapshot.state = state
                shared.held = [reason]
            }
        case .end(let task, let result, let end):
            self.flush(&queue)
            self.end(task, result, end, &queue)
        case .launch(let request): self.launch(request)
        case .discard(let id): self.engine.discard(id)
        case .pause(let id): if !self.engine.pause(id) { self.inputs.append(.notPaused(id)) }
        case .unpause(let id): self.engine.unpause(id)
        case .proceed(let id, let sink): self.engine.proceed(id, into: sink)
        case .sinkHasRoom(let id): self.engine.sinkHasRoom(id)
        case .sourceHasBytes(let id): self.engine.sourceHasBytes(id)
        case .beginPool: self.engine.beginPool()
        case .resolve(let name, let target, let lookup):
            self.given.resolver.resolve(name) { [mailbox = self.given.mailbox] in
                mailbox.send(.gate(target: target, .resolved(lookup: lookup, $0)))
            }
        case .forgetNames: self.given.resolver.invalidate()
        case .record(let entry, let answer): self.record(entry, answer)
        case .awaitJournal(let task):
            self.given.journal?.whenWritable { [mailbox = self.given.mailbox] in
                mailbox.send(.journal(task, .writable, nil))
            }
        case .disk(let job): self.perform(job)
        case .forget(let store, let done):
            if !self.given.disk.perform({ store.removeAll() }, completion: { _ in done() }) { done() }
        case .ask(let task, let question, let hook):
            self.flush(&queue)
            self.ask(task, question, hook)
        case .stopAsking(let task): self.questions.removeValue(forKey: task)?.cancel()
        case .showResponse, .showData, .reportProgress, .runHandler, .call:
            // The app's code may block, so earlier events must be visible before it runs.
            self.flush(&queue)
            self.callApp(effect)
        }
    }

    // MARK: The engine

    private func launch(_ request: Indirect<AttemptRequest>) {
        do throws(CurlError) { try self.engine.start(request) } catch {
            self.inputs.append(.notStarted(request.value.id, "\(error)"))
        }
    }

    private func end(_ task: TransferTask, _ result: TaskResult, _ end: EndOfTask, _ queue: inout EffectQueue) {
        // The session ended without waiting for this thread and has already published the end.
        guard let entry = self.given.registry.end(task, holding: end.bodyBytes) else { return }
        self.delegate.didComplete(task, result)
        entry.onCompletion?(task, result)
        // A task that the next process continues has not ended.
        let change: TaskEvent.Kind = end.isPreserved ? .suspended(.shutdown) : .completed(result.redacted(for: task))
        task.handlers?.span?.record(change)
        queue.publish(change, of: task, isTraced: true)
        if !end.isPreserved, entry.isRestored, let count = self.given.registry.restoredTaskEnded() {
            queue.announce(.restoredTasksEnded(count: count))
        }
        if !end.dependents.isEmpty { self.inputs.append(.released(end.dependents)) }
        self.finished.append((task, result, end.resumeData))
    }

    // MARK: - Other threads

    private func record(_ entry: JournalEntry, _ answer: (task: UInt64, as: JournalWriter.Write)?) {
        guard let answer else { return self.given.journal?.record(entry) { _ in } ?? () }
        let mailbox = self.given.mailbox
        self.given.journal?.record(entry) { result in
            var issue: JournalError?
            if case .failure(let error) = result { issue = error }
            mailbox.send(.journal(answer.task, answer.as, issue))
        }
    }

    private func perform(_ job: DiskJob) {
        let mailbox = self.given.mailbox
        let isStarted = self.given.disk.perform(job.work) { result in
            if let task = job.task, case .success(let event?) = result { mailbox.send(.disk(task, event)) }
        }
        if !isStarted, let task = job.task { self.inputs.append(.command(.disk(task, job.refusal))) }
    }

    // MARK: - The app

    private func ask(_ task: UInt64, _ question: Int, _ hook: @escaping @Sendable () async -> HookAnswer) {
        let mailbox = self.given.mailbox
        self.questions.updateValue(
            Task { mailbox.send(.delegate(task, .answered(question: question, await hook()))) }, forKey: task)?.cancel()
    }

    private func callApp(_ effect: SessionEffect) {
        switch effect {
        case .showResponse(let task, let head, let url): self.delegate.didReceive(head, from: url, task)
        case .showData(let task, let offset, let chunk): self.delegate.didReceive(chunk, at: offset, task)
        case .reportProgress(let task, let progress): self.delegate.didProgress(task, progress)
        case .runHandler(let task, let result, let isAwaited):
            let mailbox = self.given.mailbox
            task.handlers?.completion?.run(task, result) {
                if isAwaited { mailbox.send(.delegate(task.number, .handlerReturned)) }
            }
        case .call(let function): function()
        default: break
        }
    }
}
