/// What is known about a failed attempt.
public struct FailureEvidence: Sendable, Hashable {
    /// Why it failed.
    public var failure: TaskFailure
    /// The status, where one came.
    public var status: Int?
    /// How the socket failed, where it did.
    public var socketError: SocketError?
    /// Why the name gave no address, where it gave none.
    public var resolveFailure: ResolveFailure?
    /// The verdict when the attempt started.
    public var before: Verdict
    /// The verdict when it failed.
    public var after: Verdict

    /// The socket errors that tell something (errno(3)).
    public enum SocketError: String, Sendable, Hashable {
        case refused, networkUnreachable, hostUnreachable, timedOut, reset, addressNotAvailable, prohibited, blackholed,
            other
    }

    /// Evidence from its parts.
    public init(
        failure: TaskFailure, status: Int? = nil, socketError: SocketError? = nil,
        resolveFailure: ResolveFailure? = nil, before: Verdict, after: Verdict
    ) {
        self.failure = failure
        self.status = status
        self.socketError = socketError
        self.resolveFailure = resolveFailure
        self.before = before
        self.after = after
    }
}

extension Attribution {
    /// Judges whose failure an attempt's was; nil for a cancelled one.
    ///
    /// Order matters: a path that was lost or changed under the attempt explains every symptom on it.
    public static func judge(_ evidence: FailureEvidence) -> Attribution? {
        switch evidence.failure {
        case .cancelled: return nil
        case .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal, .tooLarge:
            return Attribution(party: .mine, isCertain: true, evidence: ["the failure is on this host"])
        case .resolveFailed, .connectFailed, .tlsFailed, .tlsPinMismatch, .timedOut, .stalled, .reset, .protocolError,
            .truncated, .httpStatus, .rangeMismatch, .digestMismatch, .outcomeUnknown, .gateTimeout,
            .deadlineExceeded, .retriesExhausted:
            return self.lostPath(evidence) ?? self.wire(evidence)
        }
    }

    private static func lostPath(_ evidence: FailureEvidence) -> Attribution? {
        for (verdict, moment) in [(evidence.after, "when it failed"), (evidence.before, "when it started")] {
            guard verdict.level != .unknown, verdict.level < .routed else { continue }
            let reason = verdict.reason ?? .noRoute
            return Attribution(
                party: .mine, rung: reason.rung, isCertain: true, evidence: ["no path \(moment): \(reason.rawValue)"])
        }
        if let before = evidence.before.path, let after = evidence.after.path, !before.isSameWay(as: after) {
            return Attribution(
                party: .mine, rung: .route, isCertain: true,
                evidence: ["the path moved from \(before.interface) to \(after.interface) under the attempt"])
        }
        return nil
    }

    private static func wire(_ evidence: FailureEvidence) -> Attribution {
        switch evidence.failure {
        case .resolveFailed:
            let isName = evidence.resolveFailure == .nameNotFound
            return Attribution(
                party: isName ? .theirs : .resolver, rung: .dns, isCertain: isName,
                evidence: [isName ? "the resolver says that the name has no address" : "the resolver gave no answer"])
        case .tlsFailed, .tlsPinMismatch:
            return Attribution(party: .theirs, rung: .tls, isCertain: true, evidence: ["TLS failed after a connection"])
        case .httpStatus: return self.status(evidence.status)
        case .protocolError, .truncated, .rangeMismatch, .digestMismatch:
            return Attribution(party: .theirs, rung: .http, isCertain: true, evidence: ["the answer itself is wrong"])
        case .connectFailed, .timedOut, .stalled, .reset, .outcomeUnknown, .gateTimeout, .deadlineExceeded,
            .retriesExhausted, .cancelled, .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal, .tooLarge:
            return self.socket(evidence.socketError)
        }
    }

    // facts 6.1: 4xx is about the request, 429 and 5xx about the server.
    private static func status(_ status: Int?) -> Attribution {
        let isMine = status.map { (400..<500).contains($0) && $0 != 429 && $0 != 408 } ?? false
        let text = status.map { "the server answered \($0)" } ?? "the server refused"
        return Attribution(party: isMine ? .mine : .theirs, rung: .http, isCertain: true, evidence: [text])
    }

    private static func socket(_ error: FailureEvidence.SocketError?) -> Attribution {
        switch error {
        case .refused:
            Attribution(party: .theirs, rung: .tcp, isCertain: true, evidence: ["their host refused the connection"])
        case .reset:
            Attribution(party: .theirs, rung: .tcp, isCertain: false, evidence: ["the connection was reset"])
        case .networkUnreachable:
            Attribution(party: .upstream, rung: .tcp, isCertain: false, evidence: ["a router reported no route"])
        case .hostUnreachable:
            Attribution(party: .path, rung: .tcp, isCertain: false, evidence: ["the host was reported unreachable"])
        case .addressNotAvailable:
            Attribution(party: .mine, rung: .address, isCertain: true, evidence: ["the source address is gone"])
        case .timedOut, .other, .prohibited, .blackholed, nil:
            Attribution(party: .unknown, rung: .tcp, isCertain: false, evidence: ["no answer, and nothing says why"])
        }
    }
}

extension Unreachable {
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
