internal import Glibc
internal import NIOCore
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTransfer

/// A probe by one question to a name server.
struct DNSProbe: TargetProbe {
    private enum Phase: String, CaseIterable {
        case resolve, connect, request
    }

    let options: DNSProbeOptions
    let context: ProbeContext

    var source: ProbeSource { self.options.source }

    func run(_ text: String, _ findings: inout ProbeFindings) async {
        findings.declare(.dnsAnswers, .dnsAuthorities, .dnsAdditionals, .dnsSucceeded)
        findings.declare(.lookupTime, .addressFamily, .addressHash)
        for phase in Phase.allCases { self.set(phase, .zero, &findings) }
        guard let target = try? Target(text) else {
            return findings.fail(.invalidTarget, .mine, "\"\(text)\" is neither HOST nor HOST:PORT")
        }
        let address = await self.context.address(
            of: target, preferring: self.options.family, from: self.source, &findings)
        self.set(.resolve, .seconds(findings.value(of: .lookupTime)), &findings)
        guard let address else { return }
        let query = DNSQuery(
            self.options.name, type: self.options.type, class: self.options.recordClass,
            isRecursive: self.options.isRecursive, id: .random(in: .min ... .max))
        guard let query else {
            return findings.fail(.invalidTarget, .mine, "\"\(self.options.name)\" cannot be a name in the DNS")
        }
        do throws(TextError) {
            let exchange = DNSProbeExchange(
                port: target.port ?? self.options.defaultPort, tls: try self.tls(to: target), query: query)
            await self.run(exchange, at: address, &findings)
        } catch {
            findings.fail(.fileError, .mine, "\(error)")
        }
    }

    /// The server, if it may be asked about; a diagnosis of another way out would say nothing of this one.
    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        guard self.options.source.interface == nil else { return nil }
        // Over UDP there is no connection to try.
        guard self.options.transport == .tcp else { return .address(address, port: nil) }
        return .address(address, port: (try? Target(text))?.port ?? self.options.defaultPort)
    }

    private func tls(to target: Target) throws(TextError) -> TLSClient? {
        guard self.options.isEncrypted else { return nil }
        return try TLSClient(self.options.tls, host: target.host)
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
        case DNSProbeExchange.Failure.timedOut where progress.hasJunk:
            findings.fail(.protocolError, .theirs, "\(host) sent nothing that is a reply to the question")
        case DNSProbeExchange.Failure.timedOut, TCPConnector.Failure.timedOut,
            _ where self.options.transport == .tcp && self.context.remaining == .zero:
            evidence.failure = .timedOut
            // A datagram may be lost anywhere.
            if self.options.transport == .udp { evidence.stage = nil }
            findings.fail(.timedOut, evidence)
        case DNSProbeExchange.Failure.closed, StreamError.closedWithoutAnswer:
            evidence.failure = .reset
            evidence.socketError = .reset
            findings.fail(.reset, evidence)
        case DNSProbeExchange.Failure.malformed:
            findings.fail(.protocolError, .theirs, "what \(host) sent is no reply to the question")
        case DNSProbeExchange.Failure.refused(let error, let code, let local):
            // Over UDP nothing is connected, and what refuses a datagram is between this host and the server.
            (evidence.stage, evidence.refusal, evidence.local) = (.connect, error, local)
            self.fail(IOError(errnoCode: code, reason: "recv"), evidence, &findings)
        case DNSProbeExchange.Failure.noInterface(let name), TCPConnector.Failure.noInterface(let name):
            findings.fail(.connectFailed, .mine, "there is no interface \(name)")
        case TCPConnector.Failure.failed(let code, let isImmediate, let error, let local):
            (evidence.isImmediate, evidence.refusal, evidence.local) = (isImmediate, error, local)
            self.fail(IOError(errnoCode: code, reason: "connect"), evidence, &findings)
        case let error as IOError where progress.stage != .tls:
            // A connection over TCP may end so because a router said so.
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
