internal import TidegateAttribution
internal import TidegateCore
internal import TidegateTransfer

extension HTTPProbeExchanges {
    /// Records the measurements of the requests, and why they failed.
    func record(_ findings: inout ProbeFindings) async {
        findings.set(.httpRedirects, Double(self.redirects))
        guard let last = self.all.last else { return }
        self.addPhases(&findings)
        // The status decides about a redirect that was not followed.
        if let failure = last.outcome.failure, failure != .httpStatus { self.fail(failure, last, &findings) }
        guard let head = last.outcome.head else { return }
        if let local = last.outcome.connection?.local, let remote = last.outcome.peer, last.destination.proxy == nil {
            findings.connection = ProbeConnection(
                local: local, remote: remote,
                isEncrypted: last.outcome.certificateChain != nil && !self.probe.options.tls.isInsecure,
                connect: last.outcome.phases.connect)
        }
        self.record(head, last.outcome, &findings)
        await self.probe.check(
            head, body: self.isUnreadable(last.outcome) ? nil : last.body?.bytes ?? [],
            isEncrypted: last.outcome.certificateChain != nil, &findings)
    }

    // blackbox_exporter opens gzip before the conditions about the body, so what is not gzip breaks none of them.
    private func isUnreadable(_ outcome: AttemptOutcome) -> Bool {
        guard let failure = outcome.failure, failure != .httpStatus else { return false }
        return self.probe.options.coding != .gzip || outcome.progress.received > 0
    }

    private func record(_ head: ResponseHead, _ outcome: AttemptOutcome, _ findings: inout ProbeFindings) {
        findings.set(.httpStatus, Double(head.status))
        findings.set(
            .httpContentLength, Double(head.contentLength ?? ([101, 204, 304].contains(head.status) ? 0 : -1)))
        if !self.endsWithRedirect {
            let limit = outcome.failure == .tooLarge ? self.probe.options.maxBodyBytes : nil
            findings.set(.httpBodyLength, limit.map(Double.init) ?? Double(outcome.progress.received))
        }
        findings.set(.httpVersion, Double(head.version) ?? 0)
        let year = Int(self.probe.environment.time.wall().description.prefix(4)) ?? 0
        if let date = head.field("Last-Modified"), let seconds = HTTPDate.parse(date, year: year) {
            findings.set(.httpLastModified, Double(seconds))
        }
        if let certificates = outcome.certificateChain {
            findings.set(.httpTLS, 1)
            findings.record(certificates)
        }
    }

    // The body of a redirect, and the time that it takes, do not count.
    private func addPhases(_ findings: inout ProbeFindings) {
        for (position, exchange) in self.all.enumerated() {
            let isLast = position == self.all.count - 1
            for phase in PhaseDurations.Phase.allCases {
                let duration: Duration?
                switch phase {
                // The duration of the first lookup is recorded after the lookup itself.
                case .resolve: duration = position == 0 ? nil : exchange.destination.lookupTime
                case .transfer where !isLast || self.endsWithRedirect: duration = nil
                case .connect, .tls, .processing, .transfer: duration = exchange.outcome.phases[phase]
                }
                if let duration { findings.add(.httpDuration, duration.inSeconds, labels: [phase.label]) }
            }
        }
    }

    private func fail(
        _ failure: TaskFailure, _ exchange: HTTPProbeExchange, _ findings: inout ProbeFindings
    ) {
        let outcome = exchange.outcome
        let source = self.probe.source
        if let body = exchange.body, let text = self.shortage(of: body, failure) {
            return findings.fail(.noMemory, .mine, text)
        }
        if !outcome.isConnected, let peer = outcome.peer, source.explains(outcome.socketError, at: peer, &findings) {
            return
        }
        let attribution = DecisionTable.attribution(of: self.evidence(failure, exchange))
        // For connections and silence, libcurl's own text adds nothing to the evidence.
        let isAboutConnection = attribution?.isAboutConnection ?? false || failure == .timedOut
        let text = (isAboutConnection ? attribution?.evidence.first : nil) ?? outcome.text
        let isEncoding = failure == .protocolError && self.probe.options.coding != nil && outcome.head != nil
        findings.fail(
            isEncoding ? .encoding : ProbeFailureReason(failure, outcome.socketError), attribution?.party ?? .unknown,
            text.isEmpty ? "\(failure)" : text, cause: attribution?.cause)
    }

    // How the memory for bodies caused a failure; nil if it did not.
    private func shortage(of body: ExaminedBody, _ failure: TaskFailure) -> String? {
        let budget = ByteText(Int64(self.probe.context.bodies.limit))
        if body.isWaiting {
            return "other probes' bodies took the \(budget) of probe_body_budget until the timeout"
        }
        guard failure == .tooLarge, body.limit < self.probe.options.maxExaminedBytes else { return nil }
        return "the body is larger than probe_body_budget, which is \(budget)"
    }

    private func evidence(_ failure: TaskFailure, _ exchange: HTTPProbeExchange) -> FailureEvidence {
        let (outcome, verdict) = (exchange.outcome, exchange.destination.verdict)
        let family = outcome.peer?.family ?? verdict.path?.source?.family ?? .ipv4
        // A diagnosis does not cover another way out.
        let found = self.probe.source.isBound ? nil : self.probe.environment.network.diagnosis(family)
        var evidence = FailureEvidence(failure, outcome, before: verdict, after: verdict)
        evidence.proxy = exchange.destination.proxy.map { "\($0)" }
        return evidence.adding(found)
    }
}

extension ProbeFailureReason {
    /// The reason for a failed request.
    init(_ failure: TaskFailure, _ error: SocketError? = nil) {
        switch failure {
        case _ where error == .noResources: self = .noDescriptor
        case .resolveFailed: self = .resolveFailed
        case .connectFailed: self = .connectFailed
        case .tlsFailed, .tlsPinMismatch: self = .tlsFailed
        case .timedOut, .stalled, .gateTimeout, .deadlineExceeded: self = .timedOut
        case .reset, .retriesExhausted, .outcomeUnknown: self = .reset
        case .truncated: self = .truncated
        case .tooLarge: self = .tooLarge
        case .httpStatus: self = .status
        case .protocolError, .redirectRefused, .rangeMismatch, .digestMismatch: self = .protocolError
        case .invalidRequest: self = .invalidTarget
        case .fileError, .diskFull, .bodyChanged: self = .fileError
        case .cancelled, .internal: self = .internal
        }
    }
}
