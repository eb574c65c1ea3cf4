internal import TidegateCore
internal import TidegateTransfer

/// Calls what an app gave the session and its tasks: hooks, observers and completion handlers.
///
/// Hooks and handlers run elsewhere and report back; observers are called on the session's thread.
struct DelegateDispatcher {
    /// What other threads report.
    enum Event: Sendable {
        /// A hook has answered.
        case answered(question: Int, HookAnswer)
        /// Observers have bytes of a body to get.
        case bodyArrived
        /// A completion handler on another executor has returned.
        case handlerReturned
    }

    private let sessionHooks: SessionHooks?
    private let sessionObserver: TaskObserver?
    private let deliver: @Sendable (_ task: UInt64, Event) -> Void

    init(
        hooks: SessionHooks?, observer: TaskObserver?, deliver: @escaping @Sendable (_ task: UInt64, Event) -> Void
    ) {
        self.sessionHooks = hooks
        self.sessionObserver = observer
        self.deliver = deliver
    }

    // MARK: - Hooks

    /// The task's own hook, or the session's; nil if there is neither.
    func hook<Hook>(_ task: TransferTask, _ pick: (SessionHooks) -> Hook?) -> Hook? {
        task.handlers.flatMap { pick($0.hooks) } ?? self.sessionHooks.flatMap(pick)
    }

    /// Asks a hook; the answer comes back as an event.
    func ask(
        _ state: DelegateState, of task: UInt64, _ question: DelegateState.Question,
        _ hook: @escaping @Sendable () async -> HookAnswer
    ) {
        state.hook.call?.cancel()
        state.hook.number += 1
        state.hook.question = question
        let (deliver, number) = (self.deliver, state.hook.number)
        state.hook.call = Task { deliver(task, .answered(question: number, await hook())) }
    }

    /// The question that an answer is about; nil if it is not open any more.
    func takeQuestion(_ number: Int, of state: DelegateState) -> DelegateState.Question? {
        guard state.hook.number == number, let question = state.hook.question else { return nil }
        state.hook.question = nil
        state.hook.call = nil
        return question
    }

    /// The answer is not waited for any more.
    func stopAsking(_ state: DelegateState, of task: TaskID) {
        state.hook.question = nil
        state.hook.call?.cancel()
        state.hook.call = nil
        state.bodyStream?.stop(task)
    }

    // MARK: - Observers

    /// True if an observer may be called about the task.
    func isObserved(_ task: TransferTask) -> Bool { self.sessionObserver != nil || task.handlers != nil }

    func didReceive(_ head: ResponseHead, from url: String, _ task: TransferTask) {
        let (all, own) = (self.sessionObserver?.response, task.handlers?.observer.response)
        guard all != nil || own != nil else { return }
        let response = TaskResponse(head, url: url)
        all?(task, response)
        own?(task, response)
    }

    /// True if the bytes of a task's body are observed.
    func observesData(_ task: TransferTask) -> Bool {
        self.sessionObserver?.data != nil || task.handlers?.observer.data != nil
    }

    /// Makes what collects the bytes of the next attempt for the task's observers.
    func makeBodyObserver(_ state: DelegateState, of task: UInt64, digest: BodyDigest?) -> BodyObserver {
        let deliver = self.deliver
        let observer = BodyObserver(digest: digest) { deliver(task, .bodyArrived) }
        state.observed.observer = observer
        return observer
    }

    /// Passes on the bytes that have come since the last time.
    func flushData(_ state: DelegateState, of task: TransferTask) {
        guard let observer = state.observed.observer else { return }
        let (all, own) = (self.sessionObserver?.data, task.handlers?.observer.data)
        for chunk in observer.takeAll() {
            all?(task, state.observed.offset, chunk)
            own?(task, state.observed.offset, chunk)
            state.observed.offset += Int64(chunk.count)
        }
    }

    func didProgress(_ task: TransferTask, _ progress: @autoclosure () -> TransferProgress) {
        let (all, own) = (self.sessionObserver?.progress, task.handlers?.observer.progress)
        guard all != nil || own != nil else { return }
        let progress = progress()
        all?(task, progress)
        own?(task, progress)
    }

    func didComplete(_ task: TransferTask, _ result: TaskResult) {
        self.sessionObserver?.completion?(task, result)
        task.handlers?.observer.completion?(task, result)
    }

    // MARK: - Completion handlers on other executors

    /// True if the task's completion handler has to return before its end is published; starts it the first time.
    func waitsForHandler(_ task: TransferTask, _ state: DelegateState?, _ result: TaskResult) -> Bool {
        guard let completion = task.handlers?.completion else { return false }
        guard state?.didFinishHandler != true else {
            completion.run(task, result)
            return false
        }
        let (deliver, number) = (self.deliver, task.number)
        completion.run(task, result) { deliver(number, .handlerReturned) }
        return true
    }
}
