internal import NIOCore
internal import TidegateCore
internal import TidegateNetwork

/// One connection of a probe, from its beginning to its end.
struct StreamSession {
    /// Who is connected to.
    enum Peer {
        case tcp(ProbeAddress, port: UInt16)
        case unix(SocketAddress)
    }

    let options: StreamProbeOptions
    let context: ProbeContext
    /// Where the phases are recorded.
    let metric: ProbeMetric
    /// The name that the server's certificate has to be for, unless the module names another; nil for any.
    let host: String?
    let peer: Peer

    private var time: any TimeSource { self.context.environment.time }

    /// Connects, and says what the module says.
    func run(_ findings: inout ProbeFindings) async {
        var client: TLSClient?
        do throws(TextError) {
            if self.options.usesTLS { client = try TLSClient(self.options.tls, host: self.host) }
        } catch {
            return findings.fail(.fileError, .mine, error.description)
        }
        let connection: StreamConnection?
        do {
            connection = try await self.connect(client, &findings)
        } catch TCPConnector.Failure.noInterface(let name) {
            return findings.fail(.connectFailed, .mine, "there is no interface \(name)")
        } catch {
            return await self.fail(error, during: .connect, &findings)
        }
        guard let connection else { return }
        await self.talk(on: connection, client, &findings)
        connection.close()
    }

    // The connection; nil if nothing is to be said on it.
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

    private func recordConnection(since start: MonotonicTime, _ findings: inout ProbeFindings) {
        self.record("connect", since: start, &findings)
        findings.note("Successfully dialed")
    }

    private func talk(
        on connection: StreamConnection, _ client: TLSClient?, _ findings: inout ProbeFindings
    ) async {
        let dialogue = StreamDialogue(
            options: self.options, host: self.host, connection: connection,
            measure: { phase, start, findings in self.record(phase, since: start, &findings) }, time: self.time)
        do throws(StreamDialogue.Failure) {
            if let client, let handshake = connection.handshake {
                try await dialogue.finish(client, &findings) { handshake }
            }
            try await dialogue.run(&findings)
            try await dialogue.end()
        } catch {
            switch error {
            case .unexpected: break
            case .file(let error): findings.fail(.fileError, .mine, error.description)
            case .connection(let error, let stage): await self.fail(error, during: stage, &findings)
            }
        }
    }

    private func record(_ phase: String, since start: MonotonicTime, _ findings: inout ProbeFindings) {
        findings.add(self.metric, (self.time.monotonic() - start).inSeconds, labels: [phase])
    }

    private func fail(_ error: any Error, during stage: Stage, _ findings: inout ProbeFindings) async {
        if case StreamError.lineTooLong = error {
            return findings.fail(.tooLarge, .theirs, "a line has more than 64 KiB")
        }
        let isOver = self.context.remaining == .zero
        let failure = StreamFailure(isOver ? StreamError.timedOut : error, during: stage)
        guard case .tcp(let address, _) = self.peer else {
            let (party, text) = failure.atSocket
            return findings.fail(ProbeFailureReason(failure.failure), party, text)
        }
        await self.context.record(failure, at: address, from: self.options.source, &findings)
    }
}

/// A probe over TCP: a connection, TLS if the module asks for it, and what is said on it.
struct TCPProbe: TargetProbe {
    let options: StreamProbeOptions
    let context: ProbeContext

    var source: ProbeSource { self.options.source }

    func run(_ text: String, _ findings: inout ProbeFindings) async {
        findings.declare(
            .failedDueToRegex, .failedDueToBytes, .lookupTime, .addressFamily, .addressHash)
        let target: Target
        do throws(TargetError) { target = try Target(text) } catch {
            return findings.fail(.invalidTarget, .mine, "\(error)")
        }
        guard let port = target.port else {
            return findings.fail(.invalidTarget, .mine, "\(text) names no port; give HOST:PORT")
        }
        guard
            let address = await self.context.address(
                of: target, preferring: self.options.family, from: self.source, &findings)
        else { return }
        findings.add(.tcpDuration, address.lookupTime.inSeconds, labels: ["resolve"])
        let session = StreamSession(
            options: self.options, context: self.context, metric: .tcpDuration, host: target.host,
            peer: .tcp(address, port: port))
        await session.run(&findings)
    }

    /// The port, if it may be asked about; a diagnosis of another way out would say nothing of this one.
    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        self.source.isBound ? nil : .address(address, port: (try? Target(text))?.port)
    }
}

/// A probe over a Unix socket, whose path the target is.
///
/// No address is involved, so that ``ProbeTargetPolicy`` has nothing to say; only a module with this prober opens paths.
struct UnixProbe: TargetProbe {
    let options: StreamProbeOptions
    let context: ProbeContext

    func run(_ path: String, _ findings: inout ProbeFindings) async {
        findings.declare(.failedDueToRegex, .failedDueToBytes)
        let address: SocketAddress
        do {
            address = try SocketAddress(unixDomainSocketPath: path)
        } catch {
            return findings.fail(.invalidTarget, .mine, "the path is longer than a socket's may be (unix(7))")
        }
        let session = StreamSession(
            options: self.options, context: self.context, metric: .unixDuration, host: nil, peer: .unix(address))
        await session.run(&findings)
    }

    func subject(of target: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? { nil }
}
