internal import TidegateCore

extension HTTPCheck.Result {
    /// What a check's outcome amounts to.
    init(_ outcome: HTTPCheckOutcome, of request: HTTPCheck.Request) {
        guard let attempt = outcome.attempt else {
            self.init(reached: nil)
            (self.failure, self.text) = (.invalidRequest, outcome.text)
            return
        }
        self.init(reached: attempt.stageReached(in: request))
        if !outcome.hasEnough, let failure = attempt.checkFailure {
            self.failure = failure
            self.socketError = attempt.socketError
            self.text = attempt.checkText(for: request.address)
        }
        self.refusal = attempt.refusal
        self.status = attempt.head?.status
        self.location = attempt.head?.field("Location").map(URLRedaction(query: false).text)
        let isGood = self.status.map { (200..<300).contains($0) } ?? false
        self.body = isGood ? outcome.body : Array(attempt.diagnosticBody.prefix(request.bodyLimit))
        self.phases = attempt.phases
        self.local = attempt.connection?.local ?? attempt.failedConnect?.local
        self.certificate = attempt.certificate
        self.certificateError = attempt.certificateError
        self.handshake = attempt.handshake
    }
}

extension AttemptOutcome {
    fileprivate func stageReached(in request: HTTPCheck.Request) -> Stage? {
        if self.head != nil { return .response }
        guard self.isConnected else { return nil }
        let hasTLS = request.lastStage == .tls || request.lastStage > .tls && request.url.scheme == .https
        return self.reachedWire && hasTLS ? .tls : .connect
    }

    // Any response is a success here: what it means is decided by the rung.
    fileprivate var checkFailure: TaskFailure? {
        self.head != nil && [.httpStatus, .rangeMismatch, .tooLarge].contains(self.failure) ? nil : self.failure
    }

    fileprivate func checkText(for address: IPAddress) -> String {
        guard !self.isConnected, let connect = self.failedConnect else { return self.text }
        let peer = connect.address ?? address
        if let refusal = connect.refusal { return refusal.sentence(about: peer) }
        switch self.socketError {
        case nil, .timedOut:
            let count = connect.retransmits + 1
            return "\(peer) did not answer \(count) SYN\(count == 1 ? "" : "s")"
        case let error?: return error.clause(host: "\(peer)") ?? self.text
        }
    }
}
