extension Attribution {
    /// Judges whose failure an attempt's was; nil for a cancelled one.
    ///
    /// Order matters: a path that was lost or changed under the attempt explains every symptom on it, a rung that is
    /// known to fail every one above it, and a word from the network more than silence.
    public static func classify(_ evidence: FailureEvidence) -> Attribution? {
        switch evidence.failure {
        case .cancelled: return nil
        case .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal, .tooLarge:
            return Attribution(party: .mine, isCertain: true, evidence: ["the failure is on this host"])
        case .resolveFailed, .connectFailed, .tlsFailed, .tlsPinMismatch, .timedOut, .stalled, .reset, .protocolError,
            .truncated, .httpStatus, .rangeMismatch, .digestMismatch, .outcomeUnknown, .gateTimeout,
            .deadlineExceeded, .retriesExhausted:
            return self.lostPath(evidence) ?? self.failedRung(evidence) ?? self.wire(evidence)
        }
    }

    // MARK: - This host's path

    private static func lostPath(_ evidence: FailureEvidence) -> Attribution? {
        for (verdict, moment) in [(evidence.after, "when it failed"), (evidence.before, "when it started")] {
            guard verdict.level != .unknown, verdict.level < .routed else { continue }
            let reason = verdict.reason ?? .noRoute
            return Attribution(
                party: .mine, rung: reason.rung, isCertain: true, evidence: ["no path \(moment): \(reason.rawValue)"])
        }
        if let before = evidence.before.path, let after = evidence.after.path, !before.isSamePath(as: after) {
            return Attribution(
                party: .mine, rung: .route, isCertain: true,
                evidence: ["the path moved from \(before.phrase) to \(after.phrase) under the attempt"])
        }
        return nil
    }

    // A rung below the target that is known to fail, where the attempt did not come past it.
    private static func failedRung(_ evidence: FailureEvidence) -> Attribution? {
        guard !evidence.wasAnswered else { return nil }
        for report in evidence.rungs where report.status == .bad {
            let party: FaultParty? =
                switch report.rung {
                case .interface, .carrier, .address, .route: .mine
                case .gateway: .gateway
                case .dns: evidence.failure == .resolveFailed ? .resolver : nil
                case .internet: evidence.failure == .resolveFailed ? nil : .upstream
                case .monitor, .tcp, .tls, .http: nil
                }
            guard let party else { continue }
            let phrase = report.evidence.isEmpty ? ["the rung \(report.rung.rawValue) fails"] : report.evidence
            return Attribution(party: party, rung: report.rung, isCertain: party != .upstream, evidence: phrase)
        }
        return nil
    }

    // MARK: - The wire

    private static func wire(_ evidence: FailureEvidence) -> Attribution {
        if evidence.after.level == .portal, evidence.failure.isPortalSymptom {
            return Attribution(
                party: .upstream, rung: .internet, isCertain: false,
                evidence: ["a captive portal answers on this path"] + evidence.reported)
        }
        switch evidence.failure {
        case .resolveFailed: return self.name(evidence.resolveFailure)
        case .tlsFailed, .tlsPinMismatch:
            let reported = evidence.reported.isEmpty ? ["TLS failed after a connection"] : evidence.reported
            // A connection that is cut off may be cut by somebody between.
            let isSaid = evidence.socketError != .reset
            return Attribution(party: .theirs, rung: .tls, isCertain: isSaid, evidence: reported)
        case .httpStatus: return self.status(evidence.status)
        case .protocolError, .truncated, .rangeMismatch, .digestMismatch:
            return Attribution(party: .theirs, rung: .http, isCertain: true, evidence: ["the answer itself is wrong"])
        case .connectFailed, .timedOut, .stalled, .reset, .outcomeUnknown, .gateTimeout, .deadlineExceeded,
            .retriesExhausted, .cancelled, .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal, .tooLarge:
            if let refusal = evidence.refusal { return self.refusal(refusal, evidence) }
            return self.socket(evidence)
        }
    }

    private static func name(_ failure: ResolveFailure?) -> Attribution {
        let isName = failure == .nameNotFound
        return Attribution(
            party: isName ? .theirs : .resolver, rung: .dns, isCertain: isName,
            evidence: [isName ? "the resolver says that the name has no address" : "the resolver gave no answer"])
    }

    // 4xx is about the request, 429 and 5xx about the server.
    private static func status(_ status: Int?) -> Attribution {
        let isMine = status.map { (400..<500).contains($0) && $0 != 429 && $0 != 408 } ?? false
        let text = status.map { "the server answered \($0)" } ?? "the server refused"
        return Attribution(party: isMine ? .mine : .theirs, rung: .http, isCertain: true, evidence: [text])
    }
}

extension TaskFailure {
    // What a portal does to a request that it takes for a browser's.
    fileprivate var isPortalSymptom: Bool {
        [.tlsFailed, .tlsPinMismatch, .httpStatus, .protocolError, .reset, .digestMismatch].contains(self)
    }
}

extension FailureEvidence {
    /// What was said, as evidence.
    var reported: [String] { self.phrase.isEmpty ? [] : [self.phrase] }

    /// Whether the other side had answered something before it failed.
    var wasAnswered: Bool {
        if self.status != nil || self.socketError == .refused { return true }
        return switch self.stage {
        case .tls, .request, .response, .body: true
        case .resolve, .connect, nil: false
        }
    }

    /// The way that packets took when it failed, or else when it started.
    var way: NetworkPath? { self.after.path ?? self.before.path }
}

extension NetworkPath {
    /// The way in words: `eth0 by 10.0.0.1`.
    var phrase: String { self.gateway.map { "\(self.interface) by \($0)" } ?? self.interface }
}

extension UnreachableReason {
    /// The rung of the ladder that this reason belongs to.
    public var rung: Rung {
        switch self {
        case .monitorDown: .monitor
        case .noInterface, .adminDown, .noSuchInterface: .interface
        case .noCarrier, .dormant, .lowerLayerDown: .carrier
        case .noAddress, .linkLocalOnly, .tentative, .dadFailed, .noSourceAddress: .address
        case .noRoute, .routeUnreachable, .prohibited, .blackholed, .notAHost: .route
        case .gatewayUnresolved, .gatewaySilent: .gateway
        case .resolverNoRoute, .resolverTimeout, .resolverFailed, .nameNotFound: .dns
        case .portal, .limited: .internet
        case .refused, .hostUnreachable, .timeout: .tcp
        case .tlsFailed: .tls
        case .httpError: .http
        }
    }
}
