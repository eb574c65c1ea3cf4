internal import NIOCore
internal import TidegateCore
internal import TidegateCEL

/// A probe's connection with its dialogue, step by step.
protocol DialogueSession {
    var context: ProbeContext { get }
    /// The metric with the phases.
    var metric: ProbeMetric { get }
    /// Records why the connection failed.
    func fail(_ error: any Error, during stage: Stage, _ findings: inout ProbeFindings) async
}

extension DialogueSession {
    var time: any TimeSource { self.context.environment.time }

    /// Adds to the duration of a phase.
    func record(_ phase: String, since start: MonotonicTime, _ findings: inout ProbeFindings) {
        findings.add(self.metric, (self.time.monotonic() - start).inSeconds, labels: [phase])
    }

    func recordConnection(since start: MonotonicTime, _ findings: inout ProbeFindings) {
        self.record("connect", since: start, &findings)
        findings.note("Successfully dialed")
    }

    func record(_ failure: DialogueFailure, _ findings: inout ProbeFindings) async {
        switch failure {
        case .problem(let problem): findings.fail(problem)
        case .connection(let error, let stage): await self.fail(error, during: stage, &findings)
        }
    }

    /// Waits for a handshake, and records the server's certificate chain.
    func finish(
        _ client: TLSClient, _ findings: inout ProbeFindings,
        _ start: () async throws -> EventLoopFuture<String?>
    ) async throws(DialogueFailure) {
        let begin = self.time.monotonic()
        let chain = try await DialogueFailure.perform(.tls) { try await client.chain(after: try await start()) }
        self.record("tls", since: begin, &findings)
        if let chain { findings.record(chain) }
        findings.note("TLS handshake succeeded")
    }
}

/// Why a dialogue ended before its last step.
enum DialogueFailure: Error {
    /// The input does not match the module, or a file of `tls_config` cannot be used.
    case problem(ProbeProblem)
    case connection(any Error, Stage)

    /// The server did not send what the module expects.
    static func theirs(_ reason: ProbeFailureReason, _ text: String) -> Self {
        .problem(ProbeProblem(reason: reason, party: .theirs, text: text))
    }

    /// Runs `body`, and treats its errors as failures of the connection at this stage.
    static func perform<Value>(_ stage: Stage, _ body: () async throws -> Value) async throws(Self) -> Value {
        do { return try await body() } catch { throw .connection(error, stage) }
    }
}

extension StreamProbeOptions.Step {
    /// The reply to a match, whose labels become a metric.
    func reply(to match: RegularExpressionMatch, _ findings: inout ProbeFindings) -> [UInt8] {
        if !self.labels.isEmpty {
            findings.set(
                .expectInfo(self.labels.map(\.name)), 1,
                labels: self.labels.map { String(decoding: match.expanding($0.value), as: UTF8.self) })
        }
        return match.expanding(self.send)
    }
}
