internal import TidegateCore

/// Evaluates a web server: the rungs tcp, tls and http.
enum WebRungs {
    /// The three rungs from the result of a check; unknown without a result.
    static func reports(
        _ target: ExplainTarget, _ answer: HTTPCheck.Result?, at address: IPAddress?, path: NetworkPath?
    ) -> [RungReport] {
        guard let stage = target.lastStage else {
            return [Rung.tcp, .tls, .http].map { .notApplicable($0, "no port was given") }
        }
        let report = answer.flatMap { answer in
            address.map { HTTPCheckReport(answer: answer, address: $0, target: target, path: path) }
        }
        return [
            report?.tcp ?? .unknown(.tcp),
            target.usesTLS
                ? report?.tls ?? .unknown(.tls)
                : .notApplicable(.tls, "not asked for" + (target.location == nil ? "" : " (http://)")),
            stage > .tls ? report?.http ?? .unknown(.http) : .notApplicable(.http, "no URL was given"),
        ]
    }

    /// Why a check did not reach `stage`; nil if it did.
    static func failure(_ answer: HTTPCheck.Result, _ stage: Stage) -> UnreachableReason? {
        if !answer.hasReached(.connect) { return self.connectFailure(answer) }
        switch stage {
        case .resolve, .connect: return nil
        case .tls: return answer.hasReached(.tls) ? nil : self.later(answer, otherwise: .tlsFailed)
        case .request, .response, .body:
            guard let status = answer.status else { return self.later(answer, otherwise: .httpError) }
            return status >= 400 ? .httpError : nil
        }
    }

    /// The first address whose check got furthest; it represents the family.
    static func furthest(
        _ addresses: [IPAddress], _ answers: [IPAddress: HTTPCheck.Result], _ stage: Stage
    ) -> IPAddress? {
        func rank(_ address: IPAddress) -> Int {
            guard let answer = answers[address] else { return -2 }
            if self.failure(answer, stage) == nil { return Stage.allCases.count }
            return answer.reached.map { Stage.allCases.firstIndex(of: $0) ?? 0 } ?? -1
        }
        return addresses.filter { answers[$0] != nil }.max { rank($0) < rank($1) }
    }

    private static func later(_ answer: HTTPCheck.Result, otherwise reason: UnreachableReason) -> UnreachableReason {
        if answer.failure == .tlsFailed || answer.failure == .tlsPinMismatch { return .tlsFailed }
        return self.isLate(answer) ? .timeout : reason
    }

    /// True if the check ran out of time.
    static func isLate(_ answer: HTTPCheck.Result) -> Bool {
        guard let failure = answer.failure else { return false }
        return [.timedOut, .stalled, .deadlineExceeded].contains(failure)
    }

    static func connectFailure(_ answer: HTTPCheck.Result) -> UnreachableReason {
        switch answer.socketError {
        case .refused, .reset: return .refused
        case .networkUnreachable, .hostUnreachable: return .hostUnreachable
        case .timedOut: return .timeout
        case .addressNotAvailable: return .noSourceAddress
        case .prohibited: return .prohibited
        case .blackholed: return .blackholed
        case .lacksInterface, .noResources, .other, nil: break
        }
        return answer.refusal == nil && answer.failure == .timedOut ? .timeout : .hostUnreachable
    }
}

/// One check of a server, rung by rung.
private struct HTTPCheckReport {
    let answer: HTTPCheck.Result
    let address: IPAddress
    let target: ExplainTarget
    let path: NetworkPath?

    var tcp: RungReport {
        let place = self.target.target.port.map { "\(self.host):\($0)" } ?? self.host
        guard !self.answer.hasReached(.connect) else {
            let time = self.answer.phases.connect.map { " in \($0.shortText)" } ?? ""
            let local = self.answer.local.map { " from \($0)" } ?? ""
            return RungReport(
                rung: .tcp, status: .ok, evidence: ["connected to \(place)\(time)\(local)"],
                duration: self.answer.phases.connect)
        }
        // A check that could not be made proves nothing about the server.
        guard self.answer.failure != .internal, self.answer.failure != .invalidRequest,
            self.answer.socketError != .noResources
        else {
            return .unknown(.tcp, [self.text("could not be checked")])
        }
        let reason = WebRungs.connectFailure(self.answer)
        let phrase = reason.description
        // The sender of an ICMP error is described below.
        var evidence = ["\(place): \(self.answer.refusal == nil ? self.text(phrase) : phrase)"]
        if let refusal = self.answer.refusal {
            let own = self.answer.local ?? self.path?.source
            evidence.append(LadderDescriptions.refusal(refusal, own: own, gateway: self.path?.gateway))
        } else if reason != .timeout {
            evidence.append("no ICMP error came with it")
        }
        var report = RungReport(rung: .tcp, status: .bad, reason: reason, evidence: evidence)
        report.values.refusal = self.answer.refusal
        return report
    }

    var tls: RungReport {
        guard self.answer.hasReached(.connect) else { return .unknown(.tls) }
        let isReached = self.answer.hasReached(.tls)
        let time = self.answer.phases.tls.map { ["handshake in \($0.shortText)"] } ?? []
        let reason: UnreachableReason? = isReached ? nil : self.isLate ? .timeout : .tlsFailed
        var report = RungReport(
            rung: .tls, status: isReached ? .ok : .bad, reason: reason,
            evidence: (reason.map { [self.text($0.description)] } ?? time) + self.certificate,
            duration: isReached ? self.answer.phases.tls : nil)
        report.values.certificate = self.answer.certificate
        return report
    }

    var http: RungReport {
        guard self.answer.hasReached(self.target.usesTLS ? .tls : .connect) else { return .unknown(.http) }
        guard let status = self.answer.status else {
            let reason: UnreachableReason = self.isLate ? .timeout : .httpError
            return RungReport(
                rung: .http, status: .bad, reason: reason, evidence: [self.text("the server gave no answer")])
        }
        let time = self.answer.phases.processing.map { " after \($0.shortText)" } ?? ""
        let location = self.answer.location.map { ["Location: \($0)"] } ?? []
        var report = RungReport(
            rung: .http, status: status >= 400 ? .bad : .ok, reason: status >= 400 ? .httpError : nil,
            evidence: ["status \(status)\(time)"] + location, duration: self.answer.phases.processing)
        report.values.status = status
        return report
    }

    private var host: String { self.address.family == .ipv6 ? "[\(self.address)]" : self.address.description }

    private var isLate: Bool { WebRungs.isLate(self.answer) }

    private func text(_ otherwise: String) -> String { self.answer.text.isEmpty ? otherwise : self.answer.text }

    private var certificate: [String] {
        guard let certificate = self.answer.certificate else { return [] }
        let names = certificate.names.isEmpty ? "" : ", for \(certificate.names.prefix(4).joined(separator: ", "))"
        let start = certificate.notBefore.isEmpty ? "" : " from \(certificate.notBefore)"
        return [
            "certificate of \(certificate.subject)\(names)", "signed by \(certificate.issuer)",
            "valid\(start) until \(certificate.notAfter)",
        ]
    }
}

/// Evaluates the internet as a whole, over one family.
enum InternetRung {
    private static let notConfigured = "no internet check is configured"
    private static let notRequested = "no check URL could be requested"
    /// The evidence if no check is possible.
    static let gaps = [notConfigured, notRequested]

    /// The rung from the answers of the check URLs; no observations if none are configured.
    static func report(_ observations: [InternetObservation]?, passive: PassiveFindings? = nil) -> RungReport {
        guard let observations else {
            guard let passive, let ago = passive.internet else { return .unknown(.internet, [self.notConfigured]) }
            return RungReport(rung: .internet, status: .ok, evidence: [LadderDescriptions.passive(passive, ago: ago)])
        }
        let evidence = observations.map(\.evidence)
        switch ConnectivityEvaluator.connectivity(observations) {
        case .unknown:
            return .unknown(.internet, evidence + [self.notRequested])
        case .full: return RungReport(rung: .internet, status: .ok, evidence: evidence)
        case .portal(let location):
            let place = location.map { ": it redirects to \($0)" } ?? ""
            return RungReport(
                rung: .internet, status: .bad, reason: .portal,
                evidence: ["a captive portal answers\(place)"] + evidence)
        case .limited, .none: return RungReport(rung: .internet, status: .bad, reason: .limited, evidence: evidence)
        }
    }
}

extension HTTPCheck.Result {
    /// True if the host itself did not answer the connection.
    var isUnanswered: Bool { !self.hasReached(.connect) && WebRungs.connectFailure(self) != .refused }
}
