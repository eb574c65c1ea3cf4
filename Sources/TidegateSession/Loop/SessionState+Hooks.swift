internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

// Questions to hooks, and the consequences of their answers.
extension SessionState {
    /// Handles reports of hooks, observers and handlers on other threads.
    mutating func delegateReported(_ event: DelegateDispatcher.Event, _ record: TaskRecord) {
        switch event {
        case .answered(let question, let answer): self.answered(answer, question, record)
        case .bodyArrived: self.delegate.flushData(record, &self.tasks)
        case .handlerReturned: EndRules.handlerReturned(record, in: &self)
        }
    }

    private mutating func answered(_ answer: HookAnswer, _ number: Int, _ record: TaskRecord) {
        guard !record.machine.isOver, let question = self.delegate.takeQuestion(number, of: record) else { return }
        // The hook's call has returned.
        self.tasks.add(.stopAsking(task: record.number))
        switch (question, answer) {
        case (.redirect(let response, let hop), .redirect(let decision)):
            self.redirectDecided(decision, record, response, hop)
        case (.authentication(let challenge, let status), .authentication(let answer)):
            if self.authenticated(answer, record, challenge, status: status) { TaskCommands.cancel(record, in: &self) }
        case (.serverTrust(let trust), .serverTrust(let verdict)):
            record.attempt.trustVerdicts[trust] = verdict
            self.tasks.feed(.decided, to: record)
        case (.disposition(let attempt, let end), .disposition(let decision)):
            if let live = record.live, live.id == attempt { self.decided(decision, record, live, end) }
        case (.headers(let attempt, let addresses), .headers(let headers)):
            if let live = record.live, live.id == attempt { self.headersGiven(record, live, headers, on: addresses) }
        case (.newBody(let attempt, let addresses), .newBody(let stream)):
            if let live = record.live, live.id == attempt { self.bodyGiven(record, live, stream, on: addresses) }
        case (.redirect, _), (.authentication, _), (.serverTrust, _), (.disposition, _), (.headers, _), (.newBody, _):
            break
        }
        self.tasks.touch(record)
    }

    // Applies the decision about a response whose head has arrived.
    private mutating func decided(
        _ decision: ResponseDisposition, _ record: TaskRecord, _ live: LiveAttempt, _ end: Indirect<AttemptOutcome>?
    ) {
        live.hook = .none
        record.clocks.bytesMoved(at: self.tasks.now)
        do throws(FileError) {
            var sink: BodySink?
            switch decision {
            case .continue: break
            case .cancel: return TaskCommands.cancel(record, in: &self)
            case .download(let path, let permissions):
                record.ownDelegate.isDispositionKnown = true
                if let problem = self.bodies.makeDownload(of: record, to: .file(path, permissions: permissions)) {
                    return EndRules.fail(record, problem.failure, problem.sentence, in: &self)
                }
                sink = try self.bodies.fileSink(of: record)
            }
            if let end {
                AttemptRules.finished(end, record, in: &self)
            } else {
                self.tasks.add(.proceed(live.id, into: sink))
            }
        } catch {
            let message = self.bodies.message(for: error, record)
            EndRules.fail(record, error.failure, FailureSentence(message), in: &self)
        }
    }

    // MARK: - Redirects

    /// Asks a hook whether to follow a redirect; false if there is no hook.
    mutating func askAboutRedirect(_ record: TaskRecord, _ end: AttemptEnd, to hop: Hop) -> Bool {
        guard let hook = self.delegate.hook(record.task, \.redirect), let head = end.outcome.head else { return false }
        let response = TaskResponse(url: record.hop.url.text, isRevalidated: false, head: head)
        let request = RedirectRequest(
            method: hop.method, url: hop.url.text, headers: self.requests.headers(record, of: hop),
            keepsBody: hop.keepsBody)
        self.tasks.publish(.attemptSucceeded(end.summary(of: record)), record)
        self.tasks.feed(.attemptAsks, to: record)
        let task = record.task
        self.delegate.ask(record, .redirect(response, hop), &self.tasks) {
            .redirect(await hook(task, response, request))
        }
        return true
    }

    mutating func redirectDecided(
        _ decision: RedirectDecision, _ record: TaskRecord, _ response: TaskResponse, _ hop: Hop
    ) {
        switch decision {
        case .follow: self.follow(hop, record)
        case .stop: self.endWithResponse(record, status: response.status)
        case .replace(let request):
            do {
                self.follow(try RedirectRule.replaced(hop, by: request), record)
            } catch {
                record.retry.counter.charge(madeProgress: false)
                EndRules.fail(record, .invalidRequest, "the redirect of a hook: \(error.underlying)", in: &self)
            }
        }
    }

    private mutating func follow(_ hop: Hop, _ record: TaskRecord) {
        record.attempt.redirects += 1
        record.attempt.hop = hop
        record.attempt.followsRedirect = true
        self.tasks.feed(.decided, to: record)
    }

    // The response that the hook was asked about becomes the task's result.
    private mutating func endWithResponse(_ record: TaskRecord, status: Int) {
        record.retry.counter.charge(madeProgress: false)
        EndRules.fail(
            record, .httpStatus, FailureSentence("the server answered \(status)", of: record.hop.url.textWithoutQuery),
            in: &self)
    }

    // MARK: - Authentication

    /// Handles a response that requests credentials; false if the response is the task's result.
    mutating func answersChallenge(_ record: TaskRecord, _ end: AttemptEnd, status: Int) -> Bool {
        guard status == 401 || status == 407, let head = end.outcome.head, self.requests.canSendBody(record) else {
            return false
        }
        let hook = self.delegate.hook(record.task, \.authenticate)
        let own = hook == nil && status == 401 ? self.requests.ownCredentials(record) : nil
        guard hook != nil || own != nil else { return false }
        let isProxy = status == 407
        let fields = isProxy ? head.fields("proxy-authenticate") : head.fields("www-authenticate")
        let challenge = AuthenticationChallenge(
            origin: self.name(of: record, isProxy: isProxy), isProxy: isProxy,
            schemes: AuthenticationChallenge.Scheme.parse(fields))
        let state = record.attempt.authentication ?? AuthenticationState()
        record.attempt.authentication = state
        if state.renew(for: record.origin, by: challenge, nonce: self.nonce()) {
            self.tasks.publish(.attemptSucceeded(end.summary(of: record)), record)
            self.tasks.feed(.attemptLeads, to: record)
            return true
        }
        guard state.isNew(challenge) else { return false }
        guard let hook else { return own.map { self.sendsDigest($0, record, end, challenge) } ?? false }
        self.tasks.publish(.attemptSucceeded(end.summary(of: record)), record)
        self.tasks.feed(.attemptAsks, to: record)
        let task = record.task
        self.delegate.ask(record, .authentication(challenge, status: status), &self.tasks) {
            .authentication(await hook(task, challenge))
        }
        return true
    }

    // Sends the request's own credentials, which a server has refused by Basic, by Digest; false if it offers none.
    private mutating func sendsDigest(
        _ credentials: Credentials, _ record: TaskRecord, _ end: AttemptEnd, _ challenge: AuthenticationChallenge
    ) -> Bool {
        let offers = AuthenticationChallenge(
            origin: challenge.origin, isProxy: false, schemes: challenge.schemes.filter { $0.name == "digest" })
        guard
            let authorization = Authorization(
                .credentials(credentials), to: offers, of: record.origin, nonce: self.nonce())
        else { return false }
        record.attempt.authentication?.set(authorization, for: record.origin)
        self.tasks.publish(.attemptSucceeded(end.summary(of: record)), record)
        self.tasks.feed(.attemptLeads, to: record)
        return true
    }

    /// Continues with a hook's credentials; returns true if the task must be cancelled instead.
    mutating func authenticated(
        _ answer: AuthenticationAnswer, _ record: TaskRecord, _ challenge: AuthenticationChallenge, status: Int
    ) -> Bool {
        if answer == .cancel { return true }
        let origin = record.origin
        guard let authorization = Authorization(answer, to: challenge, of: origin, nonce: self.nonce()) else {
            self.endWithResponse(record, status: status)
            return false
        }
        record.attempt.authentication?.set(authorization, for: origin)
        self.tasks.feed(.decided, to: record)
        return false
    }

    // MARK: - Trust

    /// Asks a hook whether to trust the server that the attempt was refused for; false if there is no question.
    mutating func asksAboutTrust(_ record: TaskRecord, _ end: AttemptEnd) -> Bool {
        // Limits the questions about a server that presents other certificates every time.
        guard record.attempt.trustVerdicts.count < 8, let trust = record.attempt.trustQuestion?.trust,
            let hook = self.delegate.hook(record.task, \.askServerTrust)
        else { return false }
        self.tasks.publish(.attemptFailed(end.summary(of: record), .cancelled, nil, isCharged: false), record)
        self.tasks.feed(.attemptAsks, to: record)
        let task = record.task
        self.delegate.ask(record, .serverTrust(trust), &self.tasks) { .serverTrust(await hook(task, trust)) }
        return true
    }

    private func nonce() -> String { self.requests.random.draw { String($0.next(), radix: 16) } }

    private func name(of record: TaskRecord, isProxy: Bool) -> String {
        if isProxy, let proxy = record.attempt.proxy { return proxy.description }
        return record.origin.description
    }

    // MARK: - Fields and bodies

    mutating func askForDisposition(_ head: ResponseHead, _ record: TaskRecord, _ live: LiveAttempt) {
        guard let hook = self.delegate.hook(record.task, \.disposition) else { return }
        let response = TaskResponse(url: record.hop.url.text, isRevalidated: false, head: head)
        let task = record.task
        live.hook = .asked
        self.delegate.ask(record, .disposition(live.id, end: nil), &self.tasks) {
            .disposition(await hook(task, response))
        }
        self.tasks.touch(record)
    }

    // Asks a hook for the fields; false if the attempt can continue unchanged.
    mutating func asksForHeaders(_ record: TaskRecord, _ live: LiveAttempt, on addresses: [IPAddress]) -> Bool {
        guard record.attempt.headers == nil, let hook = self.delegate.hook(record.task, \.requestHeaders) else {
            return false
        }
        live.hook = .asked
        let (task, headers) = (record.task, self.requests.headers(record, of: record.hop))
        self.delegate.ask(record, .headers(live.id, addresses), &self.tasks) { .headers(await hook(task, headers)) }
        return true
    }

    /// Takes a hook's fields for an attempt.
    mutating func headersGiven(
        _ record: TaskRecord, _ live: LiveAttempt, _ headers: [HTTPField], on addresses: [IPAddress]
    ) {
        live.hook = .none
        record.clocks.bytesMoved(at: self.tasks.now)
        if let error = Result(catching: { () throws(TaskError) in try TaskRequest.check(headers) }).failure {
            return AttemptRules.cannotStart(record, .invalidRequest, error.underlying, in: &self)
        }
        let hop = record.hop
        let offered = hop.keepsCredentials ? [] : self.requests.headers(record, of: hop)
        record.attempt.headers = headers.filter { field in
            hop.keepsCredentials || PortableFields.mayCrossOrigins(field.name) || offered.contains(field)
        }
        AttemptRules.launch(record, on: addresses, in: &self)
    }

    // Asks a hook for a new body; false if the attempt can continue unchanged.
    mutating func asksForNewBody(_ record: TaskRecord, _ live: LiveAttempt, on addresses: [IPAddress]) -> Bool {
        guard record.hop.keepsBody, let stream = record.uploadStream, !stream.isUntouched else { return false }
        guard let hook = self.delegate.hook(record.task, \.newBodyStream) else {
            self.bodyGiven(record, live, nil, on: addresses)
            return true
        }
        live.hook = .asked
        stream.stop(record.task.id)
        let task = record.task
        self.delegate.ask(record, .newBody(live.id, addresses), &self.tasks) { .newBody(await hook(task)) }
        return true
    }

    /// Takes a hook's replacement for the body stream, or nil.
    mutating func bodyGiven(
        _ record: TaskRecord, _ live: LiveAttempt, _ stream: UploadStream?, on addresses: [IPAddress]
    ) {
        live.hook = .none
        record.clocks.bytesMoved(at: self.tasks.now)
        guard let stream, stream.isUntouched else {
            let earlier = record.delegate?.uploadFailure
            let message = "the body's stream has been read and would have to be sent once more"
            return AttemptRules.cannotStart(record, .bodyChanged, message, after: earlier, in: &self)
        }
        guard stream.claim(for: record.task.id) else {
            return AttemptRules.cannotStart(
                record, .invalidRequest, "the stream for the request's body belongs to another task", in: &self)
        }
        record.ownDelegate.bodyStream = stream
        record.ownDelegate.uploadFailure = nil
        AttemptRules.launch(record, on: addresses, in: &self)
    }
}
