internal import NIOCore
internal import TidegateCore
internal import TidegateCEL

/// What a probe says on a connection and expects to hear, step by step.
struct StreamDialogue {
    typealias Failure = DialogueFailure

    let options: StreamProbeOptions
    /// The name that the server's certificate has to be for, unless the module names another; nil for any.
    let host: String?
    let connection: StreamConnection
    /// Adds to the time of a phase.
    let measure: (_ phase: String, _ start: MonotonicTime, inout ProbeFindings) -> Void
    let time: any TimeSource

    func run(_ findings: inout ProbeFindings) async throws(Failure) {
        for (number, step) in self.options.dialogue.enumerated() {
            findings.note("Processing query response entry", [("entry_number", "\(number)")])
            try await self.say(step, &findings)
            if step.startsTLS { try await self.startTLS(&findings) }
        }
    }

    /// Waits for what the server says of this host's certificate, if nothing that was heard shows that it took it.
    func end() async throws(Failure) {
        let said = self.options.dialogue.reversed().prefix { !$0.startsTLS }
        guard self.options.mayUseTLS, self.options.tls.certificateFile != nil || self.options.tls.certificate != nil,
            !said.contains(where: { $0.expect != nil || !$0.expectedBytes.isEmpty })
        else { return }
        try await Failure.perform(.tls) { try await self.connection.end() }
    }

    private func say(_ step: StreamProbeOptions.Step, _ findings: inout ProbeFindings) async throws(Failure) {
        let start = self.time.monotonic()
        defer { self.measure("query", start, &findings) }
        var send = Array(step.send.utf8)
        if let expression = step.expect {
            let match = try await self.match(expression, &findings)
            send = step.reply(to: match, &findings)
        }
        if !step.expectedBytes.isEmpty { try await self.expect(step.expectedBytes, &findings) }
        guard !send.isEmpty else { return }
        // It may be a password.
        findings.note("Sending line", [("bytes", "\(send.count + 1)")])
        try await Failure.perform(.request) { try await self.connection.send(send + [0x0A]) }
    }

    // Lines up to one that matches.
    private func match(
        _ expression: RegularExpression, _ findings: inout ProbeFindings
    ) async throws(Failure) -> RegularExpressionMatch {
        while let line = try await Failure.perform(.response, { try await self.connection.next(.line) }) {
            guard let match = expression.firstMatch(in: line) else { continue }
            findings.note("Regexp matched", [("regexp", expression.pattern)])
            findings.set(.failedDueToRegex, 0)
            return match
        }
        findings.set(.failedDueToRegex, 1)
        findings.fail(
            .response, .theirs, "no line matches \"\(expression.pattern)\" before the server closed the connection")
        throw .unexpected
    }

    private func expect(_ bytes: [UInt8], _ findings: inout ProbeFindings) async throws(Failure) {
        let found = try await Failure.perform(.response) { try await self.connection.next(.bytes(bytes.count)) } ?? []
        guard found != bytes else { return findings.set(.failedDueToBytes, 0) }
        if found.count == bytes.count { findings.set(.failedDueToBytes, 1) }
        findings.fail(
            .response, .theirs,
            found.count == bytes.count
                ? "the server sent other bytes than expect_bytes"
                : "the server sent \(found.count) bytes of the \(bytes.count) that are expected, and closed the connection"
        )
        throw .unexpected
    }

    private func startTLS(_ findings: inout ProbeFindings) async throws(Failure) {
        let client: TLSClient
        do throws(TextError) { client = try TLSClient(self.options.tls, host: self.host) } catch { throw .file(error) }
        try await self.finish(client, &findings) { try await self.connection.start(client) }
    }

    /// Waits for a handshake, and records what the server showed.
    func finish(
        _ client: TLSClient, _ findings: inout ProbeFindings,
        _ start: () async throws -> EventLoopFuture<String?>
    ) async throws(Failure) {
        let begin = self.time.monotonic()
        let chain = try await Failure.perform(.tls) { try await client.chain(after: try await start()) }
        self.measure("tls", begin, &findings)
        if let chain { findings.record(chain) }
        findings.note("TLS handshake succeeded")
    }
}

/// Why a dialogue ended before its last step.
enum DialogueFailure: Error {
    /// What came is not what the module expects, which the findings say.
    case unexpected
    case connection(any Error, Stage)
    /// A file of `tls_config` cannot be used.
    case file(TextError)

    /// Does something whose errors are failures of the connection at this stage.
    static func perform<Value>(_ stage: Stage, _ body: () async throws -> Value) async throws(Self) -> Value {
        do { return try await body() } catch { throw .connection(error, stage) }
    }
}

extension StreamProbeOptions.Step {
    /// What to send to a match, whose labels become a metric.
    func reply(to match: RegularExpressionMatch, _ findings: inout ProbeFindings) -> [UInt8] {
        if !self.labels.isEmpty {
            findings.set(
                .expectInfo(self.labels.map(\.name)), 1,
                labels: self.labels.map { String(decoding: match.expanding($0.value), as: UTF8.self) })
        }
        return match.expanding(self.send)
    }
}
