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
