internal import HTTPTypes
internal import TidegateCEL
internal import TidegateCore

/// A probe over WebSocket (RFC 6455): a connection, its upgrade, and the dialogue.
struct WebSocketProbe: TargetProbe {
    let options: WebSocketProbeOptions
    let context: ProbeContext

    func run(_ text: String, _ findings: inout ProbeFindings) async throws(ProbeProblem) {
        findings.declare(
            .webSocketStatus, .webSocketUpgraded, .webSocketFailedDueToRegex, .lookupTime, .addressFamily, .addressHash)
        let url = try ProbeProblem.catching(.invalidTarget) { try Self.url(text) }
        let address = try await self.context.address(
            of: url.target, preferring: self.options.family, timing: .webSocketDuration, &findings)
        let fields = try await self.fields(&findings)
        let client = try ProbeProblem.catching(.fileError) {
            url.scheme == .https ? try TLSClient(self.options.tls, host: url.target.host) : nil
        }
        let session = WebSocketSession(options: self.options, context: self.context, url: url, address: address)
        await session.run(fields, client, &findings)
    }

    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        .address(address, port: (try? Self.url(text))?.target.port)
    }

    // RFC 6455 3, converted to the URL of the handshake's request.
    private static func url(_ text: String) throws -> HTTPURL {
        let start = text.prefix(6).lowercased()
        guard start.hasPrefix("ws://") || start == "wss://", let colon = text.firstIndex(of: ":") else {
            throw TextError("\"\(Secrets.target(text))\" does not begin with ws:// or wss://")
        }
        let url = try HTTPURL((start == "wss://" ? "https" : "http") + text[colon...].replacing(" ", with: "%20"))
        guard url.userInfo == nil else { throw TextError("the URL has a user; the module's basic_auth is for that") }
        return url
    }

    // The module's header fields for the request.
    private func fields(_ findings: inout ProbeFindings) async throws(ProbeProblem) -> [HTTPField] {
        let fields = try ProbeProblem.catching(.fileError) { try self.options.secretHeaders.map { try $0.field() } }
        guard !fields.contains(where: { $0.name == .authorization }) else { return fields }
        let own = try ProbeProblem.catching(.fileError) { try self.options.authorization?.field() }
        if let own { return fields + [own] }
        guard let oauth2 = self.options.oauth2, let url = oauth2.tokenURL else { return fields }
        let token = try await AccessTokenRequest(options: oauth2, url: url, context: self.context).field()
        findings.note("Received an access token")
        return fields + [token]
    }
}

/// A probe's WebSocket connection from its start to its end.
struct WebSocketSession: DialogueSession {
    private typealias Failure = DialogueFailure

    let options: WebSocketProbeOptions
    let context: ProbeContext
    let url: HTTPURL
    let address: ProbeAddress

    var metric: ProbeMetric { .webSocketDuration }

    /// Connects, upgrades the connection, and performs the module's dialogue.
    func run(_ fields: [HTTPField], _ client: TLSClient?, _ findings: inout ProbeFindings) async {
        let handshake = WebSocketHandshake(
            self.url, fields: fields, userAgent: "Tidegate/\(self.context.environment.version)")
        let start = self.time.monotonic()
        do throws(Failure) {
            let connection = try await Failure.perform(.connect) {
                let socket = try await self.context.connect(
                    to: self.address, port: self.url.target.port ?? self.url.scheme.port)
                return try await WebSocketConnection.take(
                    socket, within: self.context.remaining, tls: client, handshake)
            }
            self.recordConnection(since: start, &findings)
            defer { if findings.value(of: .webSocketUpgraded) == 1 { connection.end() } else { connection.close() } }
            try await self.use(connection, client, &findings)
        } catch {
            await self.record(error, &findings)
        }
    }

    private func use(
        _ connection: WebSocketConnection, _ client: TLSClient?, _ findings: inout ProbeFindings
    ) async throws(Failure) {
        if let client, let encryption = connection.encryption {
            try await self.finish(client, &findings) { encryption }
        }
        let start = self.time.monotonic()
        let answer = try await Failure.perform(.response) { try await connection.upgrade() }
        self.record("processing", since: start, &findings)
        findings.set(.webSocketStatus, Double(answer.status))
        findings.note("Received HTTP response", [("status_code", "\(answer.status)")])
        guard answer.status == 101 else {
            // As for other requests: a failure means that the target has changed, unless it requires credentials.
            let party: FaultParty = [401, 407].contains(answer.status) ? .mine : .theirs
            throw .problem(ProbeProblem(reason: .status, party: party, text: "\(answer.status), expected 101"))
        }
        if let problem = answer.problem { throw .theirs(.protocolError, problem) }
        findings.set(.webSocketUpgraded, 1)
        do throws(Failure) { try await self.converse(connection, &findings) } catch {
            // As in blackbox_exporter: set whenever a step does not complete.
            findings.set(.webSocketFailedDueToRegex, 1)
            throw error
        }
    }

    // MARK: - Messages

    private func converse(
        _ connection: WebSocketConnection, _ findings: inout ProbeFindings
    ) async throws(Failure) {
        let start = self.time.monotonic()
        defer { self.record("transfer", since: start, &findings) }
        for (number, step) in self.options.dialogue.enumerated() {
            findings.note("Processing query response entry", [("entry_number", "\(number)")])
            var send = Array(step.send.utf8)
            if let expression = step.expect {
                let match = try await self.match(expression, connection, &findings)
                send = step.reply(to: match, &findings)
            }
            guard !send.isEmpty else { continue }
            // The message may contain a password.
            findings.note("Sending message", [("bytes", "\(send.count)")])
            let text = send
            guard let how = try await Failure.perform(.request, { try await connection.send(text) }) else { continue }
            throw .theirs(.response, "\(how), before everything was said")
        }
    }

    // The next message must match.
    private func match(
        _ expression: RegularExpression, _ connection: WebSocketConnection, _ findings: inout ProbeFindings
    ) async throws(Failure) -> RegularExpressionMatch {
        switch try await Failure.perform(.response, { try await connection.next() }) {
        case .end(let how):
            throw .theirs(.response, "\(how), without a message that matches \"\(expression.pattern)\"")
        case .message(let message):
            guard let match = expression.firstMatch(in: message) else {
                throw .theirs(
                    .response, "the message of \(message.count) bytes does not match \"\(expression.pattern)\"")
            }
            findings.note("Regexp matched", [("regexp", expression.pattern)])
            return match
        }
    }

    // MARK: - Failures

    func fail(_ error: any Error, during stage: Stage, _ findings: inout ProbeFindings) async {
        switch error {
        case WebSocketError.violation(let text): findings.fail(.protocolError, .theirs, text)
        case WebSocketError.tooLarge(let text): findings.fail(.tooLarge, .theirs, text)
        default:
            await self.context.record(self.context.failure(error, during: stage), at: self.address, &findings)
        }
    }
}
