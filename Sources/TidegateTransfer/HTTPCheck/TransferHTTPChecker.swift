package import TidegateCore

/// Checks web servers with the same engine that makes requests, on a new connection each time.
///
/// Its thread, `tg-check`, starts with the first check and ends with the last copy of the checker.
package struct TransferHTTPChecker: HTTPChecker {
    private let client: AttemptClient
    private let caFile: String?
    private let userAgent: String

    /// A checker; `caFile` is a PEM file of authorities that replaces the system's.
    ///
    /// `onThreadStart` runs first on the thread, for tests to enter a namespace. Every socket is noted
    /// in `own`.
    package init(
        caFile: String? = nil, userAgent: String = "tidegate", own: OwnSockets? = nil,
        onThreadStart: @escaping @Sendable () -> Void = {}
    ) {
        self.client = AttemptClient(name: "tg-check", own: own, onThreadStart: onThreadStart)
        (self.caFile, self.userAgent) = (caFile, userAgent)
    }

    /// Whether its thread has been in one turn for longer than 10 s.
    package var isStalled: Bool { self.client.isStalled }

    /// Checks once; returns at once when the Swift task is cancelled.
    ///
    /// If a certificate is refused, a second handshake reads it, so that the result can say what is wrong with it;
    /// nothing is sent after that handshake, whatever server is at its other end.
    package func check(
        _ request: HTTPCheck.Request, onWire: @escaping @Sendable () -> Void
    ) async -> HTTPCheck.Result {
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
        // libcurl's own connect timeout fires first, and explains more.
        return await self.client.outcome(
            of: request, within: check.limit + .milliseconds(20), body: body, onWire: onWire)
    }
}
