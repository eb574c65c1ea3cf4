internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// Telling servers and proxies who asks.
extension SessionLoop {
    /// Sees to an answer that wants to know who asks; false where that is the task's answer.
    func answersChallenge(_ record: TaskRecord, _ end: AttemptEnd, status: Int) -> Bool {
        guard status == 401 || status == 407, let head = end.outcome.head, self.canSendBody(record),
            let hook = self.hook(record, \.authenticate)
        else { return false }
        let isProxy = status == 407
        let origin = record.hop.url.origin
        let fields = isProxy ? head.fields("proxy-authenticate") : head.fields("www-authenticate")
        let challenge = AuthenticationChallenge(
            origin: self.name(of: origin, isProxy: isProxy), isProxy: isProxy,
            schemes: AuthenticationChallenge.Scheme.parse(fields))
        if self.renew(record, challenge, origin) {
            self.publish(.attemptSucceeded(end.summary(of: record.hop)), record)
            self.feed(.attemptLeads, to: record)
            return true
        }
        guard record.extra.askedRealms.insert("\(challenge.origin) \(challenge.realm)").inserted else { return false }
        self.publish(.attemptSucceeded(end.summary(of: record.hop)), record)
        self.feed(.attemptAsks, to: record)
        let task = record.task
        self.ask(record, .identity(challenge, status: status)) { .identity(await hook(task, challenge)) }
        return true
    }

    // The same words again, where the server says that only they were too old.
    private func renew(_ record: TaskRecord, _ challenge: AuthenticationChallenge, _ origin: Origin) -> Bool {
        guard let extras = record.extras, extras.renewals < 3,
            let place = extras.authorizations.firstIndex(where: { $0.isFor(origin, isProxy: challenge.isProxy) }),
            let renewed = extras.authorizations[place].renewed(by: challenge, nonce: self.nonce())
        else { return false }
        extras.renewals += 1
        extras.authorizations[place] = renewed
        return true
    }

    func identified(
        _ answer: AuthenticationAnswer, _ record: TaskRecord, _ challenge: AuthenticationChallenge, status: Int
    ) {
        if answer == .cancel { return self.cancel(record) }
        let origin = record.hop.url.origin
        guard let authorization = Authorization(answer, to: challenge, of: origin, nonce: self.nonce()) else {
            return self.endWithAnswer(record, status: status)
        }
        record.extra.authorizations.removeAll { $0.isFor(origin, isProxy: challenge.isProxy) }
        record.extra.authorizations.append(authorization)
        self.feed(.decided, to: record)
    }

    /// The fields that tell the hop's origin and the proxy who asks.
    func identity(_ record: TaskRecord) -> [HTTPField] {
        guard let extras = record.extras, !extras.authorizations.isEmpty else { return [] }
        let url = record.hop.url
        return extras.authorizations.indices.compactMap { place in
            let authorization = extras.authorizations[place]
            guard authorization.isProxy ? url.scheme == .http : authorization.origin == url.origin else { return nil }
            let whole = authorization.isProxy ? url.text : url.requestTarget
            return HTTPField(
                name: authorization.fieldName,
                value: extras.authorizations[place].value(method: record.hop.method, path: whole))
        }
    }

    private func nonce() -> String { self.surroundings.dice.roll { String($0.next(), radix: 16) } }

    private func name(of origin: Origin, isProxy: Bool) -> String {
        if isProxy, let proxy = self.proxy { return proxy.origin.description }
        return origin.description
    }
}
