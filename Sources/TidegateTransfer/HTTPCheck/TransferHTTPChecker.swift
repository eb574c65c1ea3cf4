package import TidegateCore
internal import TidegateLoop

/// Checks web servers with the engine that also makes requests, on a new connection each time.
///
/// Its thread, `tg-check`, starts with the first check and ends with the last copy of the checker.
package struct TransferHTTPChecker: HTTPChecker {
    private let client: AttemptClient
    private let caFile: String?
    private let userAgent: String

    /// Creates a checker; `caFile` is a PEM file of authorities that replaces the system's.
    ///
    /// `onThreadStart` runs first on the thread, so that tests can enter a namespace. Every socket is recorded in
    /// `own`.
    package init(
        caFile: String? = nil, userAgent: String = "tidegate", own: OwnSockets? = nil,
        onThreadStart: @escaping @Sendable () -> Void = {}
    ) {
        self.client = AttemptClient(name: "tg-check", own: own, onThreadStart: onThreadStart)
        (self.caFile, self.userAgent) = (caFile, userAgent)
    }

    /// Whether its thread has been stuck in one turn for longer than 10 s.
    package var load: ThreadLoad? { self.client.load }

    /// Checks once; returns immediately when the Swift task is cancelled.
    ///
    /// If a certificate is rejected, a second handshake reads it, so that the result can name the problem. Nothing is
    /// sent after that handshake, whichever server answers.
    package func check(_ request: HTTPCheck.Request, onWire: @escaping @Sendable () -> Void) async -> HTTPCheck.Result {
        let outcome = await self.run(request, onWire: onWire)
        var result = HTTPCheck.Result(outcome, of: request)
        guard let problem = outcome.attempt?.certificateError else { return result }
        if result.certificate == nil { result.certificate = await self.readCertificate(request, after: outcome) }
        result.text = problem.description(of: result.certificate, host: request.url.target.shownHost)
        return result
    }

    private func readCertificate(
        _ request: HTTPCheck.Request, after outcome: HTTPCheckOutcome
    ) async -> CertificateSummary? {
        let left = request.limit - (outcome.attempt.map { $0.ended - $0.started } ?? .zero)
        guard left > .zero else { return nil }
        var second = request
        second.lastStage = .tls
        second.limit = left
        return await self.run(second, isInsecure: true).attempt?.certificate
    }

    private func run(
        _ check: HTTPCheck.Request, isInsecure: Bool = false, onWire: @escaping @Sendable () -> Void = {}
    ) async -> HTTPCheckOutcome {
        let body = BodyPrefix(limit: max(0, check.bodyLimit))
        var request = AttemptRequest(id: AttemptID(rawValue: 0), url: check.url, sink: .chunks(body))
        request.method = check.method
        request.addresses = [check.address]
        request.connectTimeout = min(check.connectLimit ?? check.limit, check.limit)
        request.tls = TLSOptions(caFile: self.caFile, isInsecure: isInsecure)
        request.proxy = check.proxy
        request.userAgent = self.userAgent
        request.lastStage = check.lastStage
        request.usesFreshConnection = true
        request.wantsCertificate = true
        request.segmentSize = check.segmentSize
        // libcurl's own connect timeout fires first and gives a better explanation.
        return await self.client.outcome(
            of: request, within: check.limit + .milliseconds(20), body: body, onWire: onWire)
    }
}

extension HTTPCheck.Result {
    /// Creates the result of a check from its outcome.
    init(_ outcome: HTTPCheckOutcome, of request: HTTPCheck.Request) {
        guard let attempt = outcome.attempt else {
            self.init(reached: nil)
            (self.failure, self.text) = (.invalidRequest, outcome.text)
            self.socketError = DescriptorShortage.isNow(for: .thread) ? .noResources : nil
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

    // Any response is a success here: the rung decides what it means.
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
