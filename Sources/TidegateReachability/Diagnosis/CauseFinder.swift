internal import TidegateCore
internal import TidegateNetwork

/// Finds the cause behind a failed rung of one family.
struct CauseFinder {
    let findings: LadderFindings
    let path: PathFindings?

    /// What is wrong, and on which rung.
    func cause(of report: RungReport) -> (cause: Cause, rung: Rung) {
        let cause = self.overridden(self.plainCause(of: report))
        // A gateway without a way to anything is the internet's failure; without one to this host, that of its rung.
        if case .provider(.noRoute) = cause, !self.witnesses.isEmpty, !self.witnesses.contains(where: \.isBeyondGateway)
        {
            return (cause, .internet)
        }
        return (cause, CauseFinder.rung(of: cause, shownBy: report.rung))
    }

    static func rung(of cause: Cause, shownBy rung: Rung) -> Rung {
        switch cause {
        case .router(.absent), .router(.silent): .gateway
        case .provider(.nothingBeyond), .provider(.checksFail), .provider(.portal): .internet
        case .resolver: .dns
        case .router(.prohibits), .provider(.noRoute), .thisHost, .onTheWay, .server, .unknown: rung
        }
    }

    // An address from /etc/hosts that does not work is the file's failure, if DNS says another one.
    private func overridden(_ cause: Cause) -> Cause {
        guard let name = self.findings.name, let address = self.path?.subject.address,
            case .target? = self.path?.subject,
            name.isFromHostsFile(address)
        else { return cause }
        switch cause {
        case .server(.refused), .server(.gone), .server(.absent), .server(.portSilent), .server(.silent), .onTheWay,
            .unknown(.silence), .thisHost(.nothingListens):
            let dns = name.answered(address.family)
            return dns.contains(address) ? cause : .thisHost(.hostsFile(name.name, address: address, dns: dns))
        default: return cause
        }
    }

    private func plainCause(of report: RungReport) -> Cause {
        guard let reason = report.reason else { return .unknown(.silence) }
        switch reason {
        case .monitorDown, .noInterface, .adminDown, .noCarrier, .dormant, .flapping, .lowerLayerDown, .noAddress,
            .linkLocalOnly, .tentative, .dadFailed, .noRoute, .routeUnreachable, .prohibited, .blackholed,
            .noSourceAddress,
            .noSuchInterface, .notAHost:
            return .thisHost(.kernel(self.refusal(reason, report)))
        case .gatewayUnresolved, .gatewaySilent: return self.silence(.target)
        case .resolverNoRoute, .resolverTimeout, .resolverFailed, .nameNotFound:
            return NameCauseFinder(findings: self.findings, path: self.path).cause(of: reason, self)
        case .portal, .limited: return self.internet(reason)
        case .refused, .hostUnreachable, .timeout, .tlsFailed, .httpError: return self.target(report, reason)
        }
    }

    // MARK: The kernel

    func refusal(_ reason: UnreachableReason, _ report: RungReport?) -> HostCause.KernelRefusal {
        let family = self.path?.subject.address.family ?? .ipv4
        let link = self.path.flatMap { LinkRungs.link(of: $0, reason, among: self.findings.links) }
        return HostCause.KernelRefusal(
            reason: reason, link: report?.link ?? link?.name, family: family,
            liveAlternative: self.path?.explanation.flatMap(DefaultRouteComparison.liveAlternative),
            linkSwitchedOff: reason == .noRoute ? self.linkSwitchedOff(family)?.name : nil)
    }

    // IPv4 addresses stay on a link that is switched off; its routes do not.
    private func linkSwitchedOff(_ family: AddressFamily) -> Link? {
        self.findings.links.first { link in
            !link.isAdminUp && link.kind != .loopback && !link.isExcluded && !link.addresses.isEmpty
        }
    }

    // MARK: Silence

    /// The cause of a silence on this path.
    func silence(_ silent: SilenceEvidence.Silent) -> Cause {
        guard let path = self.path else { return .unknown(.silence) }
        return SilenceClassifier.cause(
            of: SilenceEvidence(
                silent: silent, gateway: path.gatewayEvidence, witnesses: self.witnesses,
                losesLargePackets: path.losesLargePackets))
    }

    /// Everybody else who was asked over this path.
    var witnesses: [Witness] {
        guard let path = self.path else { return [] }
        let gateway = path.verdict.path?.gateway
        var witnesses = [path.walk, path.sentinelWalk].compactMap { $0?.witness(past: gateway) }
        if let passive = path.passive { witnesses.append(Witness(.attempt, .beyond(passive.remote))) }
        if let witness = path.connections?.witness { witnesses.append(witness) }
        if let observations = path.internet {
            let reach: Witness.Reach =
                ConnectivityEvaluator.connectivity(observations) == .full ? .beyond(nil) : .nothing
            witnesses.append(Witness(.internetCheck, reach))
        }
        witnesses += self.resolverWitnesses(path)
        witnesses += path.web.filter { $0.key != path.subject.address }.map { _, answer in
            Witness(.target, answer.hasReached(.connect) ? .beyond(nil) : .nothing, refusal: answer.refusal)
        }
        return witnesses
    }

    // A resolver counts only if packets to it take the same gateway.
    private func resolverWitnesses(_ path: PathFindings) -> [Witness] {
        guard let gateway = path.verdict.path?.gateway else { return [] }
        return (self.findings.name?.servers ?? []).compactMap { server in
            guard server.verdict.path?.gateway == gateway, !server.outcomes.isEmpty else { return nil }
            let hasAnswered = server.outcomes.contains { outcome in
                if case .failed = outcome { true } else { outcome.isAnswer || outcome == .refused }
            }
            return Witness(.resolver, hasAnswered ? .beyond(server.server) : .nothing)
        }
    }

    private func internet(_ reason: UnreachableReason) -> Cause {
        if case .portal(let location)? = self.path?.internet.map(ConnectivityEvaluator.connectivity) {
            return .provider(.portal(location: location))
        }
        if reason == .portal { return .provider(.portal(location: nil)) }
        let cause = self.silence(.target)
        if case .provider = cause { return cause }
        if case .router = cause { return cause }
        return .provider(.checksFail)
    }

    // MARK: The target

    private func target(_ report: RungReport, _ reason: UnreachableReason) -> Cause {
        let answer = self.path.flatMap { $0.web[$0.subject.address] } ?? HTTPCheck.Result(reached: nil)
        switch report.rung {
        case .tls: return self.handshake(answer)
        case .http: return self.response(answer)
        default: return self.connection(answer, reason)
        }
    }

    private func connection(_ answer: HTTPCheck.Result, _ reason: UnreachableReason) -> Cause {
        guard let path = self.path else { return .unknown(.silence) }
        if let refusal = answer.refusal ?? path.neighbourRefusal {
            return self.cause(of: refusal, from: answer.local, path.subject.address)
        }
        if reason == .refused {
            return path.verdict.notes.contains(.thisHost)
                ? .thisHost(.nothingListens(path.subject.address, port: self.findings.target.target.port))
                : .server(.refused)
        }
        return self.silence(.target)
    }

    /// The cause behind an ICMP error about `destination`.
    func cause(of error: ICMPError, from local: IPAddress?, _ destination: IPAddress) -> Cause {
        let networkPath = self.path?.verdict.path
        let sender: ICMPErrorClassifier.Sender =
            if error.offender == nil || error.isFrom(local) || error.isFrom(networkPath?.source) {
                .thisHost
            } else if error.isFrom(destination) {
                .destination
            } else {
                error.isFrom(networkPath?.gateway) ? .gateway : .router
            }
        return ICMPErrorClassifier.cause(
            of: error,
            .init(
                sender: sender, destination: destination, link: networkPath?.interface ?? "the link",
                gateway: networkPath?.gateway, witnesses: self.witnesses))
    }

    private func handshake(_ answer: HTTPCheck.Result) -> Cause {
        if let error = answer.certificateError { return .server(.certificate(error, answer.certificate)) }
        if WebRungs.isLate(answer) {
            return self.path?.losesLargePackets == true ? .onTheWay(.largePackets) : .server(.handshakeSilent)
        }
        switch answer.handshake {
        case .notTLS: return .server(.notTLS)
        case .brokenOff: return .server(.handshakeReset)
        case .refused, .notAccepted, nil:
            if answer.isBrokenOff { return .server(.handshakeReset) }
            return .server(.handshakeRefused(answer.text.isEmpty ? "the TLS handshake failed" : answer.text))
        }
    }

    private func response(_ answer: HTTPCheck.Result) -> Cause {
        if let status = answer.status {
            let isRequest = (400..<500).contains(status) && status != 408 && status != 429
            return isRequest ? .thisHost(.request(status: status)) : .server(.status(status))
        }
        if WebRungs.isLate(answer) {
            return self.path?.losesLargePackets == true ? .onTheWay(.largePackets) : .server(.responseSilent)
        }
        return answer.isBrokenOff ? .server(.responseReset) : .server(.notHTTP)
    }
}

extension HTTPCheck.Result {
    fileprivate var isBrokenOff: Bool {
        self.socketError == .reset || self.failure == .reset || self.failure == .truncated
    }
}
