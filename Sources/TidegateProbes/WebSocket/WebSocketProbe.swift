internal import HTTPTypes
internal import TidegateCEL
internal import TidegateCore
internal import TidegateTransfer

/// A probe over WebSocket (RFC 6455): a connection, its upgrade, and what is said on it.
struct WebSocketProbe: TargetProbe {
    let options: WebSocketProbeOptions
    let context: ProbeContext

    func run(_ text: String, _ findings: inout ProbeFindings) async {
        findings.declare(
            .webSocketStatus, .webSocketUpgraded, .webSocketFailedDueToRegex, .lookupTime, .addressFamily, .addressHash)
        let url: HTTPURL
        do throws(TextError) { url = try Self.url(text) } catch {
            return findings.fail(.invalidTarget, .mine, error.description)
        }
        let address = await self.context.address(of: url.target, preferring: self.options.family, &findings)
        findings.set(.webSocketDuration, findings.value(of: .lookupTime), labels: ["resolve"])
        guard let address, let fields = await self.fields(&findings) else { return }
        do throws(TextError) {
            let client =
                url.scheme == .https ? try TLSClient(self.options.tls, host: url.target.host) : nil
            let session = WebSocketSession(options: self.options, context: self.context, url: url, address: address)
            await session.run(fields, client, &findings)
        } catch {
            findings.fail(.fileError, .mine, error.description)
        }
    }

    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        .address(address, port: (try? Self.url(text))?.target.port)
    }

    // RFC 6455 3, as the request that the handshake is.
    private static func url(_ text: String) throws(TextError) -> HTTPURL {
        let start = text.prefix(6).lowercased()
        guard start.hasPrefix("ws://") || start == "wss://", let colon = text.firstIndex(of: ":") else {
            throw TextError("\"\(text)\" does not begin with ws:// or wss://")
        }
        let url: HTTPURL
        do throws(HTTPURLError) {
            url = try HTTPURL((start == "wss://" ? "https" : "http") + text[colon...])
        } catch {
            throw TextError("\(error)")
        }
        guard url.userInfo == nil else { throw TextError("the URL has a user; the module's basic_auth is for that") }
        return url
    }

    // The module's fields of the request; nil if there are none that can be sent, which `findings` then say.
    private func fields(_ findings: inout ProbeFindings) async -> [HTTPField]? {
        var fields: [HTTPField]
        do throws(TextError) {
            fields = try self.options.secretHeaders.map { header throws(TextError) in try header.field() }
            guard !fields.contains(where: { $0.name == .authorization }) else { return fields }
            if let field = try self.options.authorization?.field() { return fields + [field] }
        } catch {
            findings.fail(.fileError, .mine, error.description)
            return nil
        }
        guard let oauth2 = self.options.oauth2, let url = oauth2.tokenURL else { return fields }
        do throws(AccessTokenError) {
            fields.append(try await AccessTokenRequest(options: oauth2, url: url, context: self.context).field())
            findings.note("Received an access token")
            return fields
        } catch {
            findings.fail(error.reason, .unknown, error.text)
            return nil
        }
    }
}

/// One WebSocket connection of a probe, from its beginning to its end.
struct WebSocketSession {
    private typealias Failure = DialogueFailure

    let options: WebSocketProbeOptions
    let context: ProbeContext
    let url: HTTPURL
    let address: ProbeAddress

    private var time: any TimeSource { self.context.environment.time }

    /// Connects, upgrades the connection, and says what the module says.
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
            self.record("connect", since: start, &findings)
            findings.note("Successfully dialed")
            defer { if findings.isUpgraded { connection.end() } else { connection.close() } }
            try await self.use(connection, client, &findings)
        } catch {
            guard case .connection(let error, let stage) = error else { return }
            await self.fail(error, during: stage, &findings)
        }
    }

    private func use(
        _ connection: WebSocketConnection, _ client: TLSClient?, _ findings: inout ProbeFindings
    ) async throws(Failure) {
        if let client, let encryption = connection.encryption {
            let start = self.time.monotonic()
            let chain = try await Failure.perform(.tls) { try await client.chain(after: encryption) }
            self.record("tls", since: start, &findings)
            if let chain { findings.record(chain) }
            findings.note("TLS handshake succeeded")
        }
        let start = self.time.monotonic()
        let answer = try await Failure.perform(.response) { try await connection.upgrade() }
        self.record("processing", since: start, &findings)
        findings.set(.webSocketStatus, Double(answer.status))
        findings.note("Received HTTP response", [("status_code", "\(answer.status)")])
        guard answer.status == 101 else {
            // As with other requests: what changed is the target, unless it asks for credentials.
            let party: FaultParty = [401, 407].contains(answer.status) ? .mine : .theirs
            findings.fail(.status, party, "\(answer.status), expected 101")
            throw .unexpected
        }
        if let problem = answer.problem {
            findings.fail(.protocolError, .theirs, problem)
            throw .unexpected
        }
        findings.set(.webSocketUpgraded, 1)
        do throws(Failure) { try await self.converse(connection, &findings) } catch {
            // As blackbox_exporter has it: whatever keeps a step from its end.
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
            // It may be a password.
            findings.note("Sending message", [("bytes", "\(send.count)")])
            let text = send
            guard let how = try await Failure.perform(.request, { try await connection.send(text) }) else { continue }
            findings.fail(.response, .theirs, "\(how), before everything was said")
            throw .unexpected
        }
    }

    // The next message has to match.
    private func match(
        _ expression: RegularExpression, _ connection: WebSocketConnection, _ findings: inout ProbeFindings
    ) async throws(Failure) -> RegularExpressionMatch {
        switch try await Failure.perform(.response, { try await connection.next() }) {
        case .end(let how):
            findings.fail(.response, .theirs, "\(how), without a message that matches \"\(expression.pattern)\"")
        case .message(let message):
            if let match = expression.firstMatch(in: message) {
                findings.note("Regexp matched", [("regexp", expression.pattern)])
                return match
            }
            findings.fail(
                .response, .theirs, "the message of \(message.count) bytes does not match \"\(expression.pattern)\"")
        }
        throw .unexpected
    }

    // MARK: - Failures

    private func record(_ phase: String, since start: MonotonicTime, _ findings: inout ProbeFindings) {
        findings.add(.webSocketDuration, (self.time.monotonic() - start).inSeconds, labels: [phase])
    }

    private func fail(_ error: any Error, during stage: Stage, _ findings: inout ProbeFindings) async {
        switch error {
        case WebSocketError.violation(let text): findings.fail(.protocolError, .theirs, text)
        case WebSocketError.tooLarge(let text): findings.fail(.tooLarge, .theirs, text)
        default:
            let isOver = self.context.remaining == .zero
            await self.context.record(
                StreamFailure(isOver ? StreamError.timedOut : error, during: stage), at: self.address, &findings)
        }
    }
}

extension ProbeFindings {
    fileprivate var isUpgraded: Bool { self.value(of: .webSocketUpgraded) == 1 }
}
