internal import TidegateCore
internal import TidegateTransfer

extension HTTPCheckResult {
    /// What a look came to, for whoever asked.
    init(_ end: CheckEnd, _ question: HTTPCheckRequest) {
        guard let outcome = end.outcome else {
            self.init(reached: .nothing, failure: .invalidRequest, text: end.text)
            return
        }
        let status = outcome.head?.status
        let isGood = status.map { (200..<300).contains($0) } ?? false
        let failure = CheckDescriptions.failure(outcome, end)
        self.init(
            reached: CheckDescriptions.reached(outcome, question), failure: failure,
            socketError: failure == nil ? nil : outcome.socketError, refusal: outcome.refusal,
            text: failure == nil ? "" : CheckDescriptions.text(outcome, question), status: status,
            location: outcome.head?.field("Location"),
            body: isGood ? end.body : Array(outcome.diagnosticBody.prefix(question.bodyLimit)),
            phases: outcome.phases, local: outcome.contact?.local ?? outcome.dial?.local,
            certificate: outcome.certificate)
    }
}

/// The words of answers.
enum CheckDescriptions {
    static func reached(_ outcome: AttemptOutcome, _ question: HTTPCheckRequest) -> HTTPCheckResult.Reached {
        if outcome.head != nil { return .http }
        guard outcome.isConnected else { return .nothing }
        return outcome.reachedWire && question.isSecure ? .tls : .tcp
    }

    // Any answer is an answer: what it means is for whoever asked to say.
    static func failure(_ outcome: AttemptOutcome, _ end: CheckEnd) -> TaskFailure? {
        guard let failure = outcome.failure, !end.isEnough else { return nil }
        switch failure {
        case .httpStatus, .rangeMismatch, .tooLarge: return outcome.head == nil ? failure : nil
        case .resolveFailed, .connectFailed, .tlsFailed, .tlsPinMismatch, .timedOut, .stalled, .reset, .protocolError,
            .truncated, .digestMismatch, .bodyChanged, .outcomeUnknown, .gateTimeout, .deadlineExceeded,
            .retriesExhausted, .cancelled, .invalidRequest, .fileError, .diskFull, .internal:
            return failure
        }
    }

    static func text(_ outcome: AttemptOutcome, _ question: HTTPCheckRequest) -> String {
        guard !outcome.isConnected, let dial = outcome.dial else { return outcome.text }
        let peer = dial.address ?? question.address
        if let refusal = dial.refusal { return refusal.sentence(about: peer) }
        switch outcome.socketError {
        case .refused: return "\(peer) refuses connections to the port"
        case nil, .timedOut: return "\(peer) did not answer \(dial.retransmits + 1) SYNs"
        case .networkUnreachable: return "this host has no route to \(peer)"
        case .hostUnreachable: return "\(peer) is unreachable"
        case .prohibited: return "a rule of this host's forbids \(peer)"
        case .blackholed: return "a blackhole route of this host's swallows \(peer)"
        case .addressNotAvailable: return "this host has no source address for \(peer)"
        case .reset, .other: return outcome.text
        }
    }

    /// The host in a URL; the URL itself where it has none.
    static func host(of url: String) -> String {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else { return url }
        let authority = url[colon...].dropFirst(3).prefix { !"/?#".contains($0) }
        let place = authority.split(separator: "@").last ?? authority
        if place.hasPrefix("[") { return String(place.dropFirst().prefix { $0 != "]" }) }
        return String(place.prefix { $0 != ":" })
    }
}

extension HTTPCheckRequest {
    fileprivate var isSecure: Bool {
        switch self.depth {
        case .tcp: false
        case .tls: true
        case .http: self.url.lowercased().hasPrefix("https:")
        }
    }
}

extension CertificateProblem {
    /// What is wrong, in a clause that names what people ask for next.
    func words(_ certificate: CertificateSummary?, host: String) -> String {
        switch self {
        case .expired: return "the certificate expired" + (certificate.map { " on \($0.notAfter)" } ?? "")
        case .notYetValid:
            return "the certificate is not valid yet" + (certificate.map { ", but from \($0.notBefore)" } ?? "")
        case .selfSigned: return "the certificate is signed by itself" + (certificate.map { " (\($0.subject))" } ?? "")
        case .unknownIssuer:
            return "nobody trusted here signed the certificate"
                + (certificate.map { "; its issuer is \($0.issuer)" } ?? "")
        case .wrongName:
            let names = certificate.map { $0.names.isEmpty ? [$0.subject] : $0.names } ?? []
            let list = names.isEmpty ? "other names" : names.prefix(4).joined(separator: ", ")
            return "the certificate is for \(list) and not for \(host)"
        case .revoked: return "the certificate was revoked by its issuer"
        case .other(let text): return text
        }
    }
}
