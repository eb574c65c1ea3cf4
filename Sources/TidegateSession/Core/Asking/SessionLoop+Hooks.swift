internal import TidegateCore
internal import TidegateTransfer

/// Hooks: asked on threads of their own, while their transfer stands still.
extension SessionLoop {
    /// The task's own hook, or the session's; nil where there is neither.
    func hook<Hook>(_ record: TaskRecord, _ pick: (SessionHooks) -> Hook?) -> Hook? {
        record.task.traits.flatMap { pick($0.hooks) } ?? self.surroundings.hooks.flatMap(pick)
    }

    func ask(
        _ record: TaskRecord, _ question: RareTaskState.Question, _ hook: @escaping @Sendable () async -> HookAnswer
    ) {
        let extras = record.extra
        extras.lastQuestion += 1
        extras.question = question
        extras.asking?.cancel()
        let (line, number, count) = (self.surroundings.line, record.number, extras.lastQuestion)
        extras.asking = Task { line.send(.answered(number, question: count, await hook())) }
    }

    /// Nobody waits for an answer any more.
    func stopAsking(_ record: TaskRecord) {
        guard let extras = record.extras else { return }
        extras.question = nil
        extras.asking?.cancel()
        extras.asking = nil
        extras.bodyStream?.stop()
    }

    func answered(_ answer: HookAnswer, question number: Int, _ record: TaskRecord) {
        guard let extras = record.extras, extras.lastQuestion == number, let question = extras.question,
            !record.machine.isOver
        else { return }
        extras.question = nil
        extras.asking = nil
        switch (question, answer) {
        case (.redirect(let response, let hop), .redirect(let decision)):
            self.redirectDecided(decision, record, response, hop)
        case (.identity(let challenge, let status), .identity(let answer)):
            self.identified(answer, record, challenge, status: status)
        case (.disposition(let attempt, let end), .disposition(let decision)):
            if let live = record.attempt, live.id == attempt { self.disposed(decision, record, live, end) }
        case (.newBody(let attempt, let addresses), .newBody(let stream)):
            if let live = record.attempt, live.id == attempt { self.newBody(stream, record, live, addresses) }
        case (.redirect, _), (.identity, _), (.disposition, _), (.newBody, _): break
        }
        self.settle(record)
    }

    // MARK: - Redirects

    /// Asks whether a redirect is followed; false where nobody wants to be asked.
    func asksAboutRedirect(_ record: TaskRecord, _ end: AttemptEnd, to hop: RedirectRule.Hop) -> Bool {
        guard let hook = self.hook(record, \.redirect), let head = end.outcome.head else { return false }
        let response = TaskResponse(head, url: record.hop.url.text)
        let request = RedirectRequest(
            method: hop.method, url: hop.url.text, headers: self.headers(record, of: hop), keepsBody: hop.keepsBody)
        self.publish(.attemptSucceeded(end.summary(of: record.hop)), record)
        self.feed(.attemptAsks, to: record)
        let task = record.task
        self.ask(record, .redirect(response, hop)) { .redirect(await hook(task, response, request)) }
        return true
    }

    private func redirectDecided(
        _ decision: RedirectDecision, _ record: TaskRecord, _ response: TaskResponse, _ hop: RedirectRule.Hop
    ) {
        switch decision {
        case .follow: self.go(record, to: hop)
        case .stop: self.endWithAnswer(record, status: response.status)
        case .replace(let request):
            do {
                self.go(record, to: try RedirectRule.replaced(hop, by: request))
            } catch {
                record.counter.charge(madeProgress: false)
                self.fail(record, .invalidRequest, "the redirect of a hook: \(error.underlying)")
            }
        }
    }

    private func go(_ record: TaskRecord, to hop: RedirectRule.Hop) {
        record.redirects += 1
        record.hop = hop
        self.feed(.decided, to: record)
    }

    /// The status that was asked about is the answer.
    func endWithAnswer(_ record: TaskRecord, status: Int) {
        record.counter.charge(madeProgress: false)
        self.fail(record, .httpStatus, "\(record.hop.url.textWithoutQuery): the server answered \(status)")
    }

    // MARK: - What becomes of an answer

    /// True where an attempt's body has to wait for a hook.
    func awaitsDisposition(_ record: TaskRecord) -> Bool {
        guard record.task.traits != nil || self.surroundings.hooks != nil, record.hold.resumePoint == nil,
            record.extras?.isDisposed != true
        else { return false }
        return self.hook(record, \.disposition) != nil
    }

    func askAboutResponse(_ head: ResponseHead, _ record: TaskRecord, _ live: LiveAttempt) {
        guard let hook = self.hook(record, \.disposition) else { return }
        let (task, response) = (record.task, TaskResponse(head, url: record.hop.url.text))
        live.isDeciding = true
        self.ask(record, .disposition(live.id, end: nil)) { .disposition(await hook(task, response)) }
        self.settle(record)
    }

    /// True where an attempt's end waits for a hook's answer about it.
    func waitsForHook(_ outcome: AttemptOutcome, _ record: TaskRecord, _ live: LiveAttempt) -> Bool {
        guard live.isDeciding, outcome.failure == nil, case .disposition(let attempt, _)? = record.extras?.question
        else { return false }
        record.extras?.question = .disposition(attempt, end: outcome)
        return true
    }

    private func disposed(
        _ decision: ResponseDisposition, _ record: TaskRecord, _ live: LiveAttempt, _ end: AttemptOutcome?
    ) {
        live.isDeciding = false
        record.clocks.bytesMoved(at: self.now)
        do throws(FileError) {
            var sink: BodySink?
            switch decision {
            case .continue: break
            case .cancel: return self.cancel(record)
            case .download(let path, let permissions):
                record.extra.isDisposed = true
                guard let file = try self.become(record, .file(path, permissions: permissions)) else { return }
                sink = file
            }
            if let end { self.finished(end, record) } else { self.engine.proceed(live.id, into: sink) }
        } catch {
            self.fail(record, error.failure, error.description)
        }
    }

    // Nil where the task has failed.
    private func become(_ record: TaskRecord, _ destination: Destination) throws(FileError) -> BodySink? {
        switch record.request.destination {
        case .memory, .discard: break
        case .file, .descriptor, .stream:
            self.fail(record, .invalidRequest, "a body that goes elsewhere already cannot become a download")
            return nil
        }
        record.extra.destination = destination
        if let obstacle = record.paths?.obstacle() {
            self.fail(record, .fileError, obstacle)
            return nil
        }
        return try self.fileSink(of: record)
    }

    // MARK: - New bodies

    /// Asks for another stream where the one there is was read; false where the attempt can go on as it is.
    func asksForNewBody(_ record: TaskRecord, _ live: LiveAttempt, on addresses: [IPAddress]) -> Bool {
        guard record.hop.keepsBody, let stream = record.bodyStream, !stream.isUntouched else { return false }
        guard let hook = self.hook(record, \.newBodyStream) else {
            self.newBody(nil, record, live, addresses)
            return true
        }
        live.isDeciding = true
        stream.stop()
        let task = record.task
        self.ask(record, .newBody(live.id, addresses)) { .newBody(await hook(task)) }
        return true
    }

    private func newBody(
        _ stream: UploadStream?, _ record: TaskRecord, _ live: LiveAttempt, _ addresses: [IPAddress]
    ) {
        live.isDeciding = false
        record.clocks.bytesMoved(at: self.now)
        guard let stream, stream.isUntouched else {
            let words = "the body's stream has been read and would have to be sent once more"
            return self.cannotStart(record, .bodyChanged, words)
        }
        record.extra.bodyStream = stream
        self.launch(record, on: addresses)
    }

    /// True where the request's body can be sent once more.
    func canSendBody(_ record: TaskRecord) -> Bool {
        guard let stream = record.bodyStream, record.hop.keepsBody else { return true }
        return stream.isUntouched || self.hook(record, \.newBodyStream) != nil
    }
}
