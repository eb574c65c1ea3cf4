/// Decides whose failure an attempt's was.
package enum FaultClassifier {
    /// The attribution of a failed attempt; nil for a cancelled one.
    ///
    /// Order matters: a path that was lost or changed under the attempt explains every symptom on it, a rung that is
    /// known to fail explains every one above it, and an answer from the network counts more than silence.
    package static func attribution(of evidence: FailureEvidence) -> Attribution? {
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
                party: .mine, rung: reason.rung, isCertain: true, evidence: ["no path \(moment): \(reason)"])
        }
        if let before = evidence.before.path, let after = evidence.after.path, !before.isSamePath(as: after) {
            return Attribution(
                party: .mine, rung: .route, isCertain: true,
                evidence: ["the path moved from \(before.hop) to \(after.hop) under the attempt"])
        }
        return nil
    }

    // A rung below the target that is known to fail, unless the attempt got past it.
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
            let clauses = report.evidence.isEmpty ? ["the rung \(report.rung.rawValue) fails"] : report.evidence
            return Attribution(party: party, rung: report.rung, isCertain: party != .upstream, evidence: clauses)
        }
        return nil
    }

    // MARK: - The wire

    private static func wire(_ evidence: FailureEvidence) -> Attribution {
        if evidence.after.level == .portal, evidence.failure.isPortalSymptom {
            return Attribution(
                party: .upstream, rung: .internet, isCertain: false,
                evidence: ["a captive portal answers on this path"] + evidence.clauses)
        }
        switch evidence.failure {
        case .resolveFailed: return self.name(evidence.resolveFailure)
        case .tlsFailed, .tlsPinMismatch:
            let clauses = evidence.clauses.isEmpty ? ["TLS failed after a connection"] : evidence.clauses
            // A connection that is cut off may be cut by a device in between.
            let isCertain = evidence.socketError != .reset
            return Attribution(party: .theirs, rung: .tls, isCertain: isCertain, evidence: clauses)
        case .httpStatus: return self.status(evidence.status)
        case .protocolError, .truncated, .rangeMismatch, .digestMismatch:
            return Attribution(party: .theirs, rung: .http, isCertain: true, evidence: ["the answer itself is wrong"])
        case .connectFailed, .timedOut, .stalled, .reset, .outcomeUnknown, .gateTimeout, .deadlineExceeded,
            .retriesExhausted, .cancelled, .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal, .tooLarge:
            if let refusal = evidence.refusal { return ICMPErrorClassifier.attribution(of: refusal, evidence) }
            return SocketErrorClassifier.attribution(of: evidence)
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
    // How requests fail that a captive portal answers.
    fileprivate var isPortalSymptom: Bool {
        [.tlsFailed, .tlsPinMismatch, .httpStatus, .protocolError, .reset, .digestMismatch].contains(self)
    }
}

extension FailureEvidence {
    /// The text as evidence.
    var clauses: [String] { self.text.isEmpty ? [] : [self.text] }

    /// Whether the server had answered something before the attempt failed.
    var wasAnswered: Bool {
        if self.status != nil || self.socketError == .refused { return true }
        return switch self.stage {
        case .tls, .request, .response, .body: true
        case .resolve, .connect, nil: false
        }
    }

    /// The path that packets took when it failed, or else when it started.
    var path: NetworkPath? { self.after.path ?? self.before.path }
}

extension NetworkPath {
    /// The link and the gateway: `eth0 via 10.0.0.1`.
    var hop: String { self.gateway.map { "\(self.interface) via \($0)" } ?? self.interface }
}
