internal import Glibc
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTransfer

/// A probe that sends one ICMP echo request.
struct ICMPProbe: TargetProbe {
    private enum Phase: String {
        case resolve, setup, rtt
    }

    /// The payload size that blackbox_exporter uses without `payload_size`.
    private static let usualSize = 28

    let options: ICMPProbeOptions
    let context: ProbeContext

    var source: ProbeSource { self.options.source }

    func run(_ text: String, _ findings: inout ProbeFindings) async throws(ProbeProblem) {
        // The phase rtt is not set yet: without a reply its time is not 0.
        for phase in [Phase.resolve, .setup] { self.set(phase, .zero, &findings) }
        findings.declare(.lookupTime, .addressFamily, .addressHash)
        // Echo requests have no port.
        guard let target = try? Target(text), target.port == nil else {
            return findings.fail(
                .invalidTarget, .mine, "\"\(Secrets.target(text))\" is neither a host name nor an address")
        }
        let address = try await self.context.address(
            of: target, preferring: self.options.family, from: self.source, timing: .icmpDuration, &findings)
        let request = self.request(to: address)
        findings.note("Sending echo request", [("bytes", "\(request.payload.count)")])
        let outcome = await self.context.environment.echo.send(request)
        self.set(.setup, outcome.setup, &findings)
        self.record(outcome, address, &findings)
    }

    /// The host, if it can be diagnosed: a diagnosis does not cover another way out.
    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        self.options.source.interface == nil ? .address(address, port: nil) : nil
    }

    private func request(to address: ProbeAddress) -> EchoClient.Request {
        let size = self.options.payloadSize == 0 ? Self.usualSize : self.options.payloadSize
        let pattern = Array("Tidegate ".utf8)
        var request = EchoClient.Request(
            self.context.request(to: address, from: self.source),
            payload: (0..<size).map { pattern[$0 % pattern.count] })
        request.hopLimit = self.options.hopLimit == 0 ? nil : self.options.hopLimit
        request.forbidsFragments = self.options.forbidsFragments
        return request
    }

    private func set(_ phase: Phase, _ duration: Duration, _ findings: inout ProbeFindings) {
        findings.set(.icmpDuration, duration.inSeconds, labels: [phase.rawValue])
    }

    private func record(_ outcome: EchoClient.Outcome, _ address: ProbeAddress, _ findings: inout ProbeFindings) {
        var evidence = self.context.evidence(.connectFailed, at: address, from: self.source, stage: .connect)
        evidence.local = outcome.local
        switch outcome.result {
        case .answered(let hopLimit, let duration):
            self.set(.rtt, duration, &findings)
            if let hopLimit { findings.set(.icmpHopLimit, Double(hopLimit)) }
        case .refused(let error) where error.kind == .timeExceeded && self.options.hopLimit > 0:
            // Not a routing loop, because the module sets this hop limit.
            findings.fail(
                .ttlExceeded, .mine,
                "\(error.sentence(about: address.address)): the module's ttl is "
                    + "\(self.options.hopLimit)")
        case .refused(let error):
            evidence.refusal = error
            findings.fail(error.kind == .timeExceeded ? .ttlExceeded : .unreachable, evidence)
        case .tooLong(let mtu, let router):
            self.failTooLong(mtu, router, address, &findings)
        case .silent:
            evidence.failure = .timedOut
            evidence.stage = nil
            findings.silence = "no echo reply"
            findings.fail(.timedOut, evidence)
        case .failed(let failure): self.fail(failure, evidence, &findings)
        }
    }

    private func failTooLong(
        _ mtu: Int?, _ router: IPAddress?, _ address: ProbeAddress, _ findings: inout ProbeFindings
    ) {
        let limit = mtu.map { " of \($0) bytes" } ?? ""
        let place =
            router.map { "\($0) says: a link on the way to \(address.address)" } ?? "the link to \(address.address)"
        findings.fail(
            .fragmentationNeeded, router == nil ? .mine : .path,
            "\(place) has an MTU\(limit), which the packet does not fit into")
    }

    private func fail(_ failure: EchoClient.Failure, _ evidence: FailureEvidence, _ findings: inout ProbeFindings) {
        switch failure {
        case .notPermitted:
            findings.fail(
                .notPermitted, .mine,
                "this process may not open an ICMP socket: its group is outside net.ipv4.ping_group_range, and it lacks "
                    + "CAP_NET_RAW")
        case .failed("source_interface", _):
            findings.fail(
                .unreachable, .mine, "there is no interface \(self.options.source.interface ?? "")")
        case .failed("bind", EADDRNOTAVAIL):
            let source = self.options.source.address.map { "\($0)" } ?? ""
            findings.fail(.unreachable, .mine, "this host does not have the source address \(source)")
        case .failed(_, let code) where code == ENETUNREACH && self.options.source.interface != nil:
            let name = self.options.source.interface ?? ""
            findings.gate(.noRoute, "no path to \(evidence.peer.map { "\($0)" } ?? "the target") by \(name): no route")
        case .failed(let operation, let code):
            guard let error = SocketError(errorNumber: code), error != .other, error != .timedOut else {
                return findings.fail(.internal, .mine, "\(operation) failed with error \(code)")
            }
            var evidence = evidence
            (evidence.socketError, evidence.isImmediate) = (error, true)
            findings.fail(.unreachable, evidence)
        }
    }
}
