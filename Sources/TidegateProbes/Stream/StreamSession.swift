internal import NIOCore
internal import TidegateCore

/// One connection of a probe, from its beginning to its end.
struct StreamSession {
    let options: StreamProbeOptions
    let context: ProbeContext
    /// Where the phases are recorded.
    let metric: ProbeMetric
    /// The name that the server's certificate has to be for, unless the module names another; nil for any.
    let host: String?
    /// The address that is connected to; nil for a Unix socket.
    let address: ProbeAddress?

    private var time: any TimeSource { self.context.environment.time }

    /// Connects to what `destination` says; says what the module says.
    func run(_ findings: inout ProbeFindings, _ destination: () throws -> SocketAddress) async {
        var client: TLSClient?
        do throws(TextError) {
            if self.options.usesTLS { client = try TLSClient(self.options.tls, host: self.host) }
        } catch {
            return findings.fail(.fileError, .mine, error.description)
        }
        let start = self.time.monotonic()
        let connection: StreamConnection
        do {
            connection = try await StreamConnection.connect(
                to: try destination(), from: self.options.source, within: self.context.remaining, tls: client,
                noting: self.context.environment.own)
        } catch ProbeSourceError.noInterface(let name) {
            return findings.fail(.connectFailed, .mine, "there is no interface \(name)")
        } catch {
            return await self.fail(error, during: .connect, &findings)
        }
        self.record("connect", since: start, &findings)
        findings.note("Successfully dialed")
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
        connection.close()
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
        guard let address = self.address else {
            return findings.fail(ProbeFailureReason(failure.failure), failure.localParty, failure.text)
        }
        await self.context.record(failure, at: address, from: self.options.source, &findings)
    }
}

extension StreamFailure {
    /// Whose failure it is if no network is between.
    fileprivate var localParty: FaultParty {
        self.lacksClientCertificate || self.stage == .connect && self.socketError != .refused ? .mine : .theirs
    }
}
