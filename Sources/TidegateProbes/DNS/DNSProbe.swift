internal import Glibc
internal import NIOCore
internal import Synchronization
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTransfer

/// A probe that sends one query to a name server.
struct DNSProbe: TargetProbe {
    private enum Phase: String, CaseIterable {
        case resolve, connect, request
    }

    let options: DNSProbeOptions
    let context: ProbeContext

    var source: ProbeSource { self.options.source }

    func run(_ text: String, _ findings: inout ProbeFindings) async throws(ProbeProblem) {
        findings.declare(.dnsAnswers, .dnsAuthorities, .dnsAdditionals, .dnsSucceeded)
        findings.declare(.lookupTime, .addressFamily, .addressHash)
        for phase in Phase.allCases { self.set(phase, .zero, &findings) }
        guard let target = try? Target(text) else {
            throw ProbeProblem(
                reason: .invalidTarget, text: "\"\(Secrets.target(text))\" is neither HOST nor HOST:PORT")
        }
        let address = try await self.context.address(
            of: target, preferring: self.options.family, from: self.source, timing: .dnsDuration, &findings)
        let query = DNSQuery(
            self.options.name, type: self.options.type, class: self.options.recordClass,
            isRecursive: self.options.isRecursive, id: .random(in: .min ... .max))
        guard let query else {
            throw ProbeProblem(
                reason: .invalidTarget, text: "\"\(self.options.name)\" cannot be a name in the DNS")
        }
        let tls = try ProbeProblem.catching(.fileError) {
            self.options.isEncrypted ? try TLSClient(self.options.tls, host: target.host) : nil
        }
        let exchange = DNSProbeExchange(port: target.port ?? self.options.defaultPort, tls: tls, query: query)
        await self.run(exchange, at: address, &findings)
    }

    /// The server, if it can be diagnosed: a diagnosis does not cover another way out.
    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        guard self.options.source.interface == nil else { return nil }
        // UDP has no connection to diagnose.
        guard self.options.transport == .tcp else { return .address(address, port: nil) }
        return .address(address, port: (try? Target(text))?.port ?? self.options.defaultPort)
    }

    private func set(_ phase: Phase, _ duration: Duration, _ findings: inout ProbeFindings) {
        findings.set(.dnsDuration, duration.inSeconds, labels: [phase.rawValue])
    }

    private func run(_ exchange: DNSProbeExchange, at address: ProbeAddress, _ findings: inout ProbeFindings) async {
        let time = self.context.environment.time
        let (progress, start) = (DNSProbeExchange.Progress(time), time.monotonic())
        findings.note("Making DNS query", [("server", "\(address.address)"), ("port", "\(exchange.port)")])
        let result: Result<DNSReply, any Error>
        do {
            result = .success(try await self.ask(exchange, at: address, progress))
        } catch {
            result = .failure(error)
        }
        let end = time.monotonic()
        self.set(.connect, (progress.connected ?? end) - start, &findings)
        self.set(.request, progress.connected.map { end - $0 } ?? .zero, &findings)
        switch result {
        case .success(let reply): self.record(reply, &findings)
        case .failure(let error): self.fail(error, progress, address, &findings)
        }
    }

    private func ask(
        _ exchange: DNSProbeExchange, at address: ProbeAddress, _ progress: DNSProbeExchange.Progress
    ) async throws -> DNSReply {
        let (context, port) = (self.context, exchange.port)
        guard self.options.transport == .tcp else {
            let request = context.request(to: address, port: port, from: self.source)
            return try await exchange.ask(by: context.environment.datagrams, request, progress)
        }
        let socket = try await context.connect(to: address, port: port, from: self.source)
        return try await exchange.ask(on: socket, within: context.remaining, progress)
    }

    // MARK: Replies

    private func record(_ reply: DNSReply, _ findings: inout ProbeFindings) {
        findings.set(.dnsSucceeded, 1)
        findings.set(.dnsAnswers, Double(reply.answers.count))
        findings.set(.dnsAuthorities, Double(reply.authorities.count))
        findings.set(.dnsAdditionals, Double(reply.additionals.count))
        if self.options.type == "SOA" {
            findings.set(.dnsSerial, Double(reply.answers.compactMap(\.serial).last ?? 0))
        }
        let valid = self.options.validCodes.isEmpty ? [0] : self.options.validCodes
        guard valid.contains(reply.code) else {
            let names = valid.map { DNSReply.codeName($0) }.joined(separator: " or ")
            return findings.fail(.rcode, .theirs, "the server answered \(DNSReply.codeName(reply.code)), not \(names)")
        }
        for (name, conditions, records) in [
            ("answer", self.options.answers, reply.answers),
            ("authority section", self.options.authorities, reply.authorities),
            ("additional section", self.options.additionals, reply.additionals),
        ] {
            for record in records.prefix(20) { findings.note("Record", [("section", name), ("rr", record.text)]) }
            guard let problem = conditions.problem(of: records) else { continue }
            return findings.fail(.records, .theirs, "in the \(name), \(problem)")
        }
    }

    // MARK: Failures

    private func fail(
        _ error: any Error, _ progress: DNSProbeExchange.Progress, _ address: ProbeAddress,
        _ findings: inout ProbeFindings
    ) {
        var evidence = self.context.evidence(.connectFailed, at: address, from: self.source, stage: progress.stage)
        let host = "\(address.address)"
        switch error {
        case TCPConnector.Failure.timedOut where progress.hasJunk:
            findings.fail(.protocolError, .theirs, "\(host) sent no DNS response to the query")
        case TCPConnector.Failure.timedOut,
            _ where self.options.transport == .tcp && self.context.remaining == .zero:
            evidence.failure = .timedOut
            // A datagram may be lost anywhere.
            if self.options.transport == .udp { evidence.stage = nil }
            findings.fail(.timedOut, evidence)
        case StreamError.closedWithoutAnswer:
            evidence.failure = .reset
            evidence.socketError = .reset
            findings.fail(.reset, evidence)
        case DNSProbeExchange.Failure.malformed:
            findings.fail(.protocolError, .theirs, "\(host) sent something other than a DNS response to the query")
        case DNSProbeExchange.Failure.refused(let error, let code, let local):
            // UDP does not connect, and the host that refuses a datagram is somewhere between this host and the server.
            (evidence.stage, evidence.refusal, evidence.local) = (.connect, error, local)
            self.fail(IOError(errnoCode: code, reason: "recv"), evidence, &findings)
        case TCPConnector.Failure.noInterface(let name):
            findings.fail(.connectFailed, .mine, "there is no interface \(name)")
        case TCPConnector.Failure.failed(let code, let isImmediate, let error, let local):
            (evidence.isImmediate, evidence.refusal, evidence.local) = (isImmediate, error, local)
            self.fail(IOError(errnoCode: code, reason: "connect"), evidence, &findings)
        case let error as IOError where progress.stage != .tls:
            // Over TCP, a router's error may end a connection like this.
            evidence.isImmediate = evidence.stage == .connect && self.options.transport == .udp
            self.fail(error, evidence, &findings)
        default:
            let failure = StreamFailure(error, during: progress.stage)
            (evidence.failure, evidence.text) = (failure.failure, failure.text)
            evidence.socketError = failure.socketError
            evidence.lacksClientCertificate = failure.lacksClientCertificate
            findings.fail(ProbeFailureReason(failure.failure), evidence)
        }
    }

    private func fail(_ error: IOError, _ evidence: FailureEvidence, _ findings: inout ProbeFindings) {
        var evidence = evidence
        evidence.socketError = SocketError(errorNumber: error.errnoCode)
        if let peer = evidence.peer, self.source.explains(evidence.socketError, at: peer, &findings) { return }
        findings.fail(evidence.socketError == .reset ? .reset : .connectFailed, evidence)
    }
}

/// A probe's query and its response on a separate connection.
struct DNSProbeExchange: Sendable {
    /// Why there is no response.
    enum Failure: Error {
        /// The received data is not a response to the query.
        case malformed
        /// A host or router rejected the datagram sent from `local`, with an error number (errno(3)).
        case refused(ICMPError, code: Int32, local: IPAddress?)
    }

    /// How far an exchange has progressed.
    final class Progress: Sendable {
        private struct State {
            var stage = Stage.connect
            var connected: MonotonicTime?
            var hasJunk = false
        }

        private let state = Mutex(State())
        private let time: any TimeSource

        init(_ time: any TimeSource) { self.time = time }

        func enter(_ stage: Stage) {
            let now = self.time.monotonic()
            self.state.withLock { state in
                state.stage = stage
                if stage == .response { state.connected = now }
            }
        }

        /// Records datagrams that are not responses to the query.
        func receiveJunk() { self.state.withLock { $0.hasJunk = true } }

        var hasJunk: Bool { self.state.withLock { $0.hasJunk } }
        var stage: Stage { self.state.withLock { $0.stage } }
        /// When the connection was established, including its handshake; nil if it never was.
        var connected: MonotonicTime? { self.state.withLock { $0.connected } }
    }

    let port: UInt16
    /// The preceding TLS handshake; nil for none.
    let tls: TLSClient?
    let query: DNSQuery

    /// Sends the query as a datagram.
    ///
    /// NIO's datagram channel is not used, because it traps when a router rejects one.
    func ask(
        by datagrams: DatagramClient, _ request: SocketRequest, _ progress: Progress
    ) async throws -> DNSReply {
        // The client would only report that sending failed.
        if let name = request.interface, NetworkInterface.index(of: name) == nil {
            throw TCPConnector.Failure.noInterface(name)
        }
        let result = await datagrams.exchange(
            self.query.bytes, request, whenSent: { progress.enter(.response) },
            isAnswer: { bytes in
                // Any host can forge a datagram from the server, so a datagram that does not match the query is
                // ignored.
                guard DNSReply(bytes, to: self.query) == nil else { return true }
                progress.receiveJunk()
                return false
            })
        switch result {
        case .answered(let bytes): return try DNSReply(bytes, to: self.query) ?? { throw Failure.malformed }()
        case .silent: throw TCPConnector.Failure.timedOut
        // A rejection by the server itself rather than by another host.
        case .refused(let error, code: ECONNREFUSED, _) where error.isFrom(request.address):
            throw IOError(errnoCode: ECONNREFUSED, reason: "recv")
        case .failed(ECONNREFUSED): throw IOError(errnoCode: ECONNREFUSED, reason: "recv")
        case .refused(let error, let code, let local): throw Failure.refused(error, code: code, local: local)
        case .failed(let code): throw IOError(errnoCode: code, reason: "send")
        }
    }

    /// Sends the query on an established connection, and waits for at most `limit`.
    func ask(
        on socket: consuming ConnectedSocket, within limit: Duration, _ progress: Progress
    ) async throws -> DNSReply {
        if self.tls != nil { progress.enter(.tls) }
        let connection = try await StreamConnection.take(socket, within: limit, tls: self.tls)
        defer { connection.close() }
        if let tls = self.tls, let handshake = connection.handshake { _ = try await tls.chain(after: handshake) }
        progress.enter(.response)
        try await connection.send(self.query.framed)
        let length = try await self.next(2, on: connection)
        let bytes = try await self.next(Int(length[0]) << 8 | Int(length[1]), on: connection)
        guard let reply = DNSReply(bytes, to: self.query) else { throw Failure.malformed }
        return reply
    }

    private func next(_ count: Int, on connection: StreamConnection) async throws -> [UInt8] {
        let bytes = try await connection.next(.bytes(count)) ?? []
        guard bytes.count == count else { throw StreamError.closedWithoutAnswer }
        return bytes
    }
}
