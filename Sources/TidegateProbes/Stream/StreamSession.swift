internal import NIOCore
internal import TidegateCEL
internal import TidegateCore
internal import TidegateNetwork

/// A probe's connection from its start to its end.
struct StreamSession: DialogueSession {
    private typealias Failure = DialogueFailure

    /// The peer of the connection.
    enum Peer {
        case tcp(ProbeAddress, port: UInt16)
        case unix(SocketAddress)
    }

    let options: StreamProbeOptions
    let context: ProbeContext
    /// The metric with the phases.
    let metric: ProbeMetric
    /// The name that the server's certificate must be valid for, unless the module sets another; nil for any.
    let host: String?
    let peer: Peer

    /// Connects and performs the module's dialogue.
    func run(_ findings: inout ProbeFindings) async throws(ProbeProblem) {
        let client = self.options.usesTLS ? try self.client() : nil
        let connection: StreamConnection?
        do {
            connection = try await self.connect(client, &findings)
        } catch TCPConnector.Failure.noInterface(let name) {
            throw ProbeProblem(reason: .connectFailed, text: "there is no interface \(name)")
        } catch {
            return await self.fail(error, during: .connect, &findings)
        }
        guard let connection else { return }
        await self.talk(on: connection, client, &findings)
        connection.close()
    }

    // The connection; nil if the module has no dialogue.
    private func connect(_ client: TLSClient?, _ findings: inout ProbeFindings) async throws -> StreamConnection? {
        let start = self.time.monotonic()
        switch self.peer {
        case .tcp(let address, let port):
            let socket = try await self.context.connect(to: address, port: port, from: self.options.source)
            self.recordConnection(since: start, &findings)
            guard client != nil || !self.options.dialogue.isEmpty else { return nil }
            return try await StreamConnection.take(socket, within: self.context.remaining, tls: client)
        case .unix(let address):
            let connection = try await StreamConnection.connect(
                to: address, within: self.context.remaining, tls: client)
            self.recordConnection(since: start, &findings)
            return connection
        }
    }

    private func client() throws(ProbeProblem) -> TLSClient {
        try ProbeProblem.catching(.fileError) { try TLSClient(self.options.tls, host: self.host) }
    }

    private func talk(
        on connection: StreamConnection, _ client: TLSClient?, _ findings: inout ProbeFindings
    ) async {
        do throws(Failure) {
            if let client, let handshake = connection.handshake {
                try await self.finish(client, &findings) { handshake }
            }
            try await self.converse(on: connection, &findings)
            try await self.end(connection)
        } catch {
            await self.record(error, &findings)
        }
    }

    // MARK: - Dialogue

    private func converse(
        on connection: StreamConnection, _ findings: inout ProbeFindings
    ) async throws(Failure) {
        for (number, step) in self.options.dialogue.enumerated() {
            findings.note("Processing query response entry", [("entry_number", "\(number)")])
            try await self.say(step, on: connection, &findings)
            if step.startsTLS { try await self.startTLS(on: connection, &findings) }
        }
    }

    /// Waits for the server's verdict on this host's certificate, unless its answers already show that it accepted it.
    private func end(_ connection: StreamConnection) async throws(Failure) {
        guard self.options.ignoresRefusal else { return }
        try await Failure.perform(.tls) { try await connection.end() }
    }

    private func say(
        _ step: StreamProbeOptions.Step, on connection: StreamConnection, _ findings: inout ProbeFindings
    ) async throws(Failure) {
        let start = self.time.monotonic()
        defer { self.record("query", since: start, &findings) }
        var send = Array(step.send.utf8)
        if let expression = step.expect {
            let match = try await self.match(expression, on: connection, &findings)
            send = step.reply(to: match, &findings)
        }
        if !step.expectedBytes.isEmpty { try await self.expect(step.expectedBytes, on: connection, &findings) }
        guard !send.isEmpty else { return }
        // The line may contain a password.
        findings.note("Sending line", [("bytes", "\(send.count + 1)")])
        try await Failure.perform(.request) { try await connection.send(send + [0x0A]) }
    }

    // Reads lines until one matches.
    private func match(
        _ expression: RegularExpression, on connection: StreamConnection, _ findings: inout ProbeFindings
    ) async throws(Failure) -> RegularExpressionMatch {
        while let line = try await Failure.perform(.response, { try await connection.next(.line) }) {
            guard let match = expression.firstMatch(in: line) else { continue }
            findings.note("Regexp matched", [("regexp", expression.pattern)])
            findings.set(.failedDueToRegex, 0)
            return match
        }
        findings.set(.failedDueToRegex, 1)
        throw .theirs(
            .response, "no line matches \"\(expression.pattern)\" before the server closed the connection")
    }

    private func expect(
        _ bytes: [UInt8], on connection: StreamConnection, _ findings: inout ProbeFindings
    ) async throws(Failure) {
        let found = try await Failure.perform(.response) { try await connection.next(.bytes(bytes.count)) } ?? []
        guard found != bytes else { return findings.set(.failedDueToBytes, 0) }
        if found.count == bytes.count { findings.set(.failedDueToBytes, 1) }
        throw .theirs(
            .response,
            found.count == bytes.count
                ? "the server sent other bytes than expect_bytes"
                : "the server sent \(found.count) bytes of the \(bytes.count) that are expected, and closed the connection"
        )
    }

    private func startTLS(
        on connection: StreamConnection, _ findings: inout ProbeFindings
    ) async throws(Failure) {
        let client: TLSClient
        do throws(ProbeProblem) { client = try self.client() } catch { throw .problem(error) }
        try await self.finish(client, &findings) { try await connection.start(client) }
    }

    func fail(_ error: any Error, during stage: Stage, _ findings: inout ProbeFindings) async {
        if case StreamError.lineTooLong = error {
            return findings.fail(.tooLarge, .theirs, "a line has more than 64 KiB")
        }
        let failure = self.context.failure(error, during: stage)
        guard case .tcp(let address, _) = self.peer else {
            let (party, text) = failure.atSocket
            return findings.fail(ProbeFailureReason(failure.failure), party, text)
        }
        await self.context.record(failure, at: address, from: self.options.source, &findings)
    }
}

/// A probe over TCP: a connection, TLS if the module requires it, and the dialogue.
struct TCPProbe: TargetProbe {
    let options: StreamProbeOptions
    let context: ProbeContext

    var source: ProbeSource { self.options.source }

    func run(_ text: String, _ findings: inout ProbeFindings) async throws(ProbeProblem) {
        findings.declare(
            .failedDueToRegex, .failedDueToBytes, .lookupTime, .addressFamily, .addressHash)
        let target = try ProbeProblem.catching(.invalidTarget) { try Target(probed: text) }
        guard let port = target.port else {
            throw ProbeProblem(reason: .invalidTarget, text: "\(text) names no port; give HOST:PORT")
        }
        let address = try await self.context.address(
            of: target, preferring: self.options.family, from: self.source, timing: nil, &findings)
        findings.add(.tcpDuration, address.lookupTime.inSeconds, labels: ["resolve"])
        let session = StreamSession(
            options: self.options, context: self.context, metric: .tcpDuration, host: target.host,
            peer: .tcp(address, port: port))
        try await session.run(&findings)
    }

    /// The port, if it can be diagnosed: a diagnosis does not cover another way out.
    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        self.source.isBound ? nil : .address(address, port: (try? Target(text))?.port)
    }
}

/// A probe over a Unix socket; the target is its path.
///
/// No address is involved, so ``ProbeTargetPolicy`` does not apply; only modules with this prober open paths.
struct UnixProbe: TargetProbe {
    let options: StreamProbeOptions
    let context: ProbeContext

    func run(_ path: String, _ findings: inout ProbeFindings) async throws(ProbeProblem) {
        findings.declare(.failedDueToRegex, .failedDueToBytes)
        guard let address = try? SocketAddress(unixDomainSocketPath: path) else {
            throw ProbeProblem(
                reason: .invalidTarget, text: "the path is longer than a socket's may be (unix(7))")
        }
        let session = StreamSession(
            options: self.options, context: self.context, metric: .unixDuration, host: nil, peer: .unix(address))
        try await session.run(&findings)
    }

    func subject(of target: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? { nil }
}
