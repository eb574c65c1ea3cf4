/// Decides whose failure an attempt's was.
package enum FaultClassifier {
    /// The attribution of a failed attempt; nil for a cancelled one.
    ///
    /// Order matters: a path that was lost or changed under the attempt explains every symptom on it, and an answer
    /// from the network counts more than silence.
    package static func attribution(of evidence: FailureEvidence) -> Attribution? {
        switch evidence.failure {
        case .cancelled: return nil
        case .tooLarge:
            return Attribution(party: .mine, evidence: ["the body is larger than this host allows"])
        case .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal:
            return Attribution(party: .mine, evidence: ["the failure is on this host"])
        case .redirectRefused:
            return Attribution(party: .theirs, rung: .http, evidence: ["the server redirects"])
        case .resolveFailed, .connectFailed, .tlsFailed, .tlsPinMismatch, .timedOut, .stalled, .reset, .protocolError,
            .truncated, .httpStatus, .rangeMismatch, .digestMismatch, .outcomeUnknown, .gateTimeout,
            .deadlineExceeded, .retriesExhausted:
            return self.lostPath(evidence) ?? self.wire(evidence)
        }
    }

    // MARK: - This host's path

    private static func lostPath(_ evidence: FailureEvidence) -> Attribution? {
        for (verdict, moment) in [(evidence.after, "when it failed"), (evidence.before, "when it started")] {
            guard verdict.level != .unknown, verdict.level < .routed else { continue }
            let reason = verdict.reason ?? .noRoute
            return Attribution(
                party: .mine, rung: reason.rung, evidence: ["no path \(moment): \(reason)"])
        }
        if let before = evidence.before.path, let after = evidence.after.path, !before.isSamePath(as: after) {
            return Attribution(
                party: .mine, rung: .route,
                evidence: ["the path moved from \(before.hop) to \(after.hop) under the attempt"])
        }
        return nil
    }

    // MARK: - The wire

    private static func wire(_ evidence: FailureEvidence) -> Attribution {
        if evidence.after.level == .portal, evidence.failure.isPortalSymptom {
            return Attribution(
                cause: .provider(.portal(location: nil)), rung: .internet,
                evidence: ["a captive portal answers on this path"] + evidence.clauses)
        }
        switch evidence.proxyAnswer {
        case .denied:
            return Attribution(party: .mine, rung: .http, evidence: ["the proxy does not let this host through"])
        case .failed:
            return Attribution(party: .theirs, rung: .tcp, evidence: ["the proxy answers, and reaches no server"])
        case nil: break
        }
        switch evidence.failure {
        case .resolveFailed: return self.name(evidence)
        case .tlsFailed, .tlsPinMismatch:
            if evidence.lacksClientCertificate {
                return Attribution(
                    party: .mine, rung: .tls, evidence: ["the server does not accept this host's certificate, or none"])
            }
            let clauses = evidence.clauses.isEmpty ? ["TLS failed after a connection"] : evidence.clauses
            return Attribution(party: .theirs, rung: .tls, evidence: clauses)
        case .httpStatus: return self.status(evidence.status)
        case .protocolError, .truncated, .rangeMismatch, .digestMismatch:
            return Attribution(party: .theirs, rung: .http, evidence: ["the answer itself is wrong"])
        case .connectFailed, .timedOut, .stalled, .reset, .outcomeUnknown, .gateTimeout, .deadlineExceeded,
            .retriesExhausted, .cancelled, .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal, .tooLarge,
            .redirectRefused:
            if let refusal = evidence.refusal { return self.refused(by: refusal, evidence) }
            var attribution = SocketErrorClassifier.attribution(of: evidence)
            attribution.isFinal = evidence.isOnLink
            return attribution
        }
    }

    private static func name(_ evidence: FailureEvidence) -> Attribution {
        guard evidence.resolveFailure != .nameNotFound else {
            let name = evidence.proxy.map { "the name of the proxy \($0)" } ?? "the name"
            return Attribution(party: .mine, rung: .dns, evidence: ["the resolver says that \(name) has no address"])
        }
        // A resolver that is silent together with everything else is not the one that failed.
        let silence = evidence.silence(.resolvers([]))
        let cause = silence.witnesses.isEmpty ? Cause.resolver(.silent([])) : SilenceClassifier.cause(of: silence)
        return Attribution(cause: cause, rung: .dns, evidence: ["the resolver gave no answer"])
    }

    // 4xx is about the request, 429 and 5xx about the server.
    private static func status(_ status: Int?) -> Attribution {
        let isMine = status.map { (400..<500).contains($0) && $0 != 429 && $0 != 408 } ?? false
        let text = status.map { "the server answered \($0)" } ?? "the server refused"
        return Attribution(party: isMine ? .mine : .theirs, rung: .http, evidence: [text])
    }

    private static func refused(by error: ICMPError, _ evidence: FailureEvidence) -> Attribution {
        let sender = evidence.sender(of: error)
        let path = evidence.path
        let context = ICMPErrorClassifier.Context(
            sender: sender, destination: evidence.peer, link: path?.interface ?? "the link", gateway: path?.gateway,
            witnesses: evidence.allWitnesses)
        let cause = ICMPErrorClassifier.cause(of: error, context)
        // The address alone would be taken for the server's.
        let proxy = evidence.proxy.map { ", connecting to the proxy \($0)" } ?? ""
        let clause = error.sentence(about: evidence.peer, role: sender.role) + proxy
        switch cause {
        case .router(.absent(let gateway, let link)):
            return Attribution(
                cause: cause, rung: .gateway,
                evidence: ["the gateway \(gateway) does not answer on \(link)", clause])
        case .server(.absent(let host, let link)):
            return Attribution(
                cause: cause, rung: .tcp, evidence: ["\(host) does not answer on \(link)", clause])
        case .thisHost(.filter):
            return Attribution(
                cause: cause, rung: .route, evidence: ["a filter of this host refuses it", clause])
        case .thisHost, .router, .provider, .resolver, .onTheWay, .server, .unknown:
            return Attribution(
                cause: cause, rung: .tcp, evidence: [clause])
        }
    }
}

extension TaskFailure {
    // How requests fail that a captive portal answers.
    fileprivate var isPortalSymptom: Bool {
        [.tlsFailed, .tlsPinMismatch, .httpStatus, .protocolError, .reset, .digestMismatch].contains(self)
    }
}

extension ICMPErrorClassifier.Sender {
    /// The sender as a sentence names it.
    package var role: String {
        switch self {
        case .thisHost: "this host"
        case .destination: "the host itself"
        case .gateway: "the gateway"
        case .router: "a router on the way"
        }
    }
}

extension FailureEvidence {
    /// The text as evidence.
    var clauses: [String] { self.text.isEmpty ? [] : [self.text] }

    /// The path that packets took when it failed, or else when it started.
    var path: NetworkPath? { self.after.path ?? self.before.path }

    /// The latest diagnosis and what became of attempts to other hosts.
    var allWitnesses: [Witness] {
        if self.peers.reached > 0 { return self.witnesses + [Witness(.attempt, .beyond(nil))] }
        return self.peers.missed > 0 ? self.witnesses + [Witness(.attempt, .nothing)] : self.witnesses
    }

    /// True if no router stands between this host and the silent party, which may be a server behind a proxy that answers.
    var isOnLink: Bool {
        guard self.proxy == nil || [nil, .resolve, .connect].contains(self.stage) else { return false }
        return (self.after.path == nil ? self.before : self.after).isOnLink(self.peer)
    }

    /// What is known about silence of this attempt.
    func silence(_ silent: SilenceEvidence.Silent) -> SilenceEvidence {
        // What lies beyond a router says nothing about a host on this side of it.
        if silent == .target, self.isOnLink { return SilenceEvidence(silent: silent) }
        return SilenceEvidence(silent: silent, gateway: self.gateway, witnesses: self.allWitnesses)
    }

    func sender(of error: ICMPError) -> ICMPErrorClassifier.Sender {
        if error.offender == nil || error.isFrom(self.local) { return .thisHost }
        for path in [self.after.path, self.before.path] where error.isFrom(path?.source) { return .thisHost }
        if error.isFrom(self.peer) { return .destination }
        for path in [self.after.path, self.before.path] where error.isFrom(path?.gateway) { return .gateway }
        return .router
    }
}

extension NetworkPath {
    /// The link and the gateway: `eth0 via 10.0.0.1`.
    var hop: String { self.gateway.map { "\(self.interface) via \($0)" } ?? self.interface }
}
