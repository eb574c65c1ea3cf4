package import TidegateCore
internal import TidegateTransfer

/// Looks at web servers with the machinery that makes requests, on a connection of its own each time.
///
/// Its thread, `tg-check`, starts with the first question and ends with the last copy of the checker.
package struct TransferHTTPChecker: HTTPChecker {
    private let bench: HTTPCheckThread

    /// A checker; `caFile` is a PEM file of authorities that replaces the system's.
    ///
    /// `onThreadStart` runs on the thread first, for tests to enter a namespace.
    package init(
        caFile: String? = nil, userAgent: String = "tidegate", onThreadStart: @escaping @Sendable () -> Void = {}
    ) {
        self.bench = HTTPCheckThread(caFile: caFile, userAgent: userAgent, onThreadStart: onThreadStart)
    }

    /// Asks once; a task that is cancelled has its answer at once.
    ///
    /// Where a certificate is refused, a second handshake shows it, so that the answer can say what is wrong with it;
    /// nothing is sent after that one, whoever is at its other end.
    package func ask(_ question: HTTPCheckRequest) async -> HTTPCheckResult {
        let end = await self.bench.run(question)
        var answer = HTTPCheckResult(end, question)
        guard let problem = end.outcome?.certificateProblem else { return answer }
        if answer.certificate == nil { answer.certificate = await self.show(question, after: end) }
        answer.text = problem.words(answer.certificate, host: CheckDescriptions.host(of: question.url))
        return answer
    }

    private func show(_ question: HTTPCheckRequest, after end: CheckEnd) async -> CertificateSummary? {
        let left = question.limit - (end.outcome.map { $0.ended - $0.started } ?? .zero)
        guard left > .zero else { return nil }
        var second = question
        second.depth = .tls
        second.limit = left
        return await self.bench.run(second, isInsecure: true).outcome?.certificate
    }
}
