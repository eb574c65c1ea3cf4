internal import TidegateCore
internal import TidegateTransfer

/// What the session asks hooks between attempts: whether a redirect is followed, and with which credentials to go on.
struct HookQuestions {
    let driver: TaskDriver
    let delegate: DelegateDispatcher
    let failures: FailureReporter
    let requests: AttemptRequestFactory
    let random: RandomSource

    // MARK: - Redirects

    /// Asks whether a redirect is followed; false if there is no hook for that.
    func askAboutRedirect(_ record: TaskRecord, _ end: AttemptEnd, to hop: Hop) -> Bool {
        guard let hook = self.delegate.hook(record.task, \.redirect), let head = end.outcome.head else { return false }
        let response = TaskResponse(head, url: record.hop.url.text)
        let request = RedirectRequest(
            method: hop.method, url: hop.url.text, headers: self.requests.headers(record, of: hop),
            keepsBody: hop.keepsBody)
        self.driver.publish(.attemptSucceeded(end.summary(of: record.attempt)), record)
        self.driver.feed(.attemptAsks, to: record)
        let task = record.task
        self.delegate.ask(record.ownDelegate, of: record.number, .redirect(response, hop)) {
            .redirect(await hook(task, response, request))
        }
        return true
    }

    func redirectDecided(_ decision: RedirectDecision, _ record: TaskRecord, _ response: TaskResponse, _ hop: Hop) {
        switch decision {
        case .follow: self.follow(hop, record)
        case .stop: self.endWithResponse(record, status: response.status)
        case .replace(let request):
            do {
                self.follow(try RedirectRule.replaced(hop, by: request), record)
            } catch {
                record.retry.counter.charge(madeProgress: false)
                self.failures.fail(record, .invalidRequest, "the redirect of a hook: \(error.underlying)")
            }
        }
    }

    private func follow(_ hop: Hop, _ record: TaskRecord) {
        record.attempt.redirects += 1
        record.attempt.hop = hop
        record.attempt.followsRedirect = true
        self.driver.feed(.decided, to: record)
    }

    // The status that the hook was asked about is the task's result.
    private func endWithResponse(_ record: TaskRecord, status: Int) {
        record.retry.counter.charge(madeProgress: false)
        self.failures.fail(
            record, .httpStatus, FailureSentence("the server answered \(status)", of: record.hop.url.textWithoutQuery))
    }

    // MARK: - Authentication

    /// Sees to a response that asks for credentials; false if that is the task's result.
    func answersChallenge(_ record: TaskRecord, _ end: AttemptEnd, status: Int) -> Bool {
        guard status == 401 || status == 407, let head = end.outcome.head, self.requests.canSendBody(record),
            let hook = self.delegate.hook(record.task, \.authenticate)
        else { return false }
        let isProxy = status == 407
        let fields = isProxy ? head.fields("proxy-authenticate") : head.fields("www-authenticate")
        let challenge = AuthenticationChallenge(
            origin: self.name(of: record, isProxy: isProxy), isProxy: isProxy,
            schemes: AuthenticationChallenge.Scheme.parse(fields))
        let state = record.attempt.authentication ?? AuthenticationState()
        record.attempt.authentication = state
        if state.renew(for: record.origin, by: challenge, nonce: self.nonce()) {
            self.driver.publish(.attemptSucceeded(end.summary(of: record.attempt)), record)
            self.driver.feed(.attemptLeads, to: record)
            return true
        }
        guard state.isNew(challenge) else { return false }
        self.driver.publish(.attemptSucceeded(end.summary(of: record.attempt)), record)
        self.driver.feed(.attemptAsks, to: record)
        let task = record.task
        self.delegate.ask(record.ownDelegate, of: record.number, .authentication(challenge, status: status)) {
            .authentication(await hook(task, challenge))
        }
        return true
    }

    /// Goes on with the credentials that a hook gave; gives true if the task is to be cancelled instead.
    func authenticated(
        _ answer: AuthenticationAnswer, _ record: TaskRecord, _ challenge: AuthenticationChallenge, status: Int
    ) -> Bool {
        if answer == .cancel { return true }
        let origin = record.origin
        guard let authorization = Authorization(answer, to: challenge, of: origin, nonce: self.nonce()) else {
            self.endWithResponse(record, status: status)
            return false
        }
        record.attempt.authentication?.set(authorization, for: origin)
        self.driver.feed(.decided, to: record)
        return false
    }

    // MARK: - Trust

    /// Asks whether a server is trusted that the attempt was refused for; false if there is nothing to ask.
    func asksAboutTrust(_ record: TaskRecord, _ end: AttemptEnd) -> Bool {
        // A server that shows other certificates every time is not asked about for ever.
        guard record.attempt.trust.verdicts.count < 8, let trust = record.attempt.trust.question?.trust,
            let hook = self.delegate.hook(record.task, \.askServerTrust)
        else { return false }
        self.driver.publish(
            .attemptFailed(end.summary(of: record.attempt), .cancelled, nil, isCharged: false), record)
        self.driver.feed(.attemptAsks, to: record)
        let task = record.task
        self.delegate.ask(record.ownDelegate, of: record.number, .serverTrust(trust)) {
            .serverTrust(await hook(task, trust))
        }
        return true
    }

    private func nonce() -> String { self.random.draw { String($0.next(), radix: 16) } }

    private func name(of record: TaskRecord, isProxy: Bool) -> String {
        if isProxy, let proxy = record.attempt.proxy { return proxy.description }
        return record.origin.description
    }
}
