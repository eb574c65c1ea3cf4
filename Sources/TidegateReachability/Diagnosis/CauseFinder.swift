internal import Glibc
internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

/// Collects the evidence about one family's failed rung, and determines its cause.
struct CauseFinder {
    let findings: LadderFindings
    let path: PathFindings?

    /// The cause, and the rung that it belongs to.
    func cause(of report: RungReport) -> (cause: Cause, rung: Rung) {
        let cause = DecisionTable.cause(of: self.evidence(of: report))
        return (cause, DecisionTable.rung(of: cause, shownBy: report.rung, self.witnesses))
    }

    /// The cause of a silence on this path.
    func silence(_ silent: SilenceEvidence.Silent) -> Cause {
        guard let path = self.path else { return .unknown(.silence) }
        let cause = DecisionTable.cause(
            of: SilenceEvidence(
                silent: silent, gateway: path.gatewayEvidence, witnesses: self.witnesses,
                losesLargePackets: path.losesLargePackets))
        guard case .onTheWay(.largePackets) = cause else { return cause }
        return .onTheWay(.largePackets(link: path.verdict.path?.interface))
    }

    // MARK: Evidence

    private var evidence: FailureEvidence {
        // The rung itself already shows that this host has a path.
        let verdict = Verdict(level: .unknown, path: self.path?.verdict.path, notes: self.path?.verdict.notes ?? [])
        var evidence = FailureEvidence(
            failure: .timedOut, peer: self.path?.subject.address, before: verdict, after: verdict)
        evidence.isOfThisPath = true
        guard let path = self.path else { return evidence }
        (evidence.gateway, evidence.witnesses) = (path.gatewayEvidence, self.witnesses)
        (evidence.losesLargePackets, evidence.isFiltered) = (path.losesLargePackets, path.walk?.failure == EPERM)
        evidence.isTCPLost = path.walk?.isTCPLost ?? false
        evidence.isPortOpen = path.port != nil && path.walk?.arrival?.how == .connected
        if case .target(let address) = path.subject, let name = self.findings.name, name.hostsFile.contains(address) {
            evidence.lookup = .hostsFile(name.name, dns: name.answered(address.family))
        }
        return evidence
    }

    private func evidence(of report: RungReport) -> FailureEvidence {
        var evidence = self.evidence
        evidence.rung = report.rung
        switch report.reason {
        case nil: (evidence.gateway, evidence.witnesses) = (.unknown, [])
        case .monitorDown, .noInterface, .adminDown, .noCarrier, .dormant, .flapping, .lowerLayerDown, .noAddress,
            .linkLocalOnly, .tentative, .dadFailed, .noRoute, .routeUnreachable, .prohibited, .blackholed,
            .noSourceAddress, .noSuchInterface, .notAHost:
            evidence.kernel = report.reason.map { self.refusal($0, report) }
        case .gatewayUnresolved, .gatewaySilent: break
        case .resolverNoRoute: self.addRefusedQuestion(to: &evidence)
        case .resolverTimeout, .resolverFailed, .nameNotFound:
            evidence.failure = .resolveFailed
            evidence.isForwarded = self.findings.name?.isForwarded == true && self.path?.neighbourRefusal == nil
            evidence.lookup = report.reason.flatMap { self.findings.name?.failure($0, self.wantedFamily) }
        case .portal, .limited: self.addChecks(report, to: &evidence)
        case .refused, .hostUnreachable, .timeout, .tlsFailed, .httpError: self.addAnswer(report, to: &evidence)
        }
        return evidence
    }

    /// The cause of a name that resolves to an address no public name has.
    func cause(ofBlocked name: String, by server: IPAddress?, answer: IPAddress) -> Cause {
        var evidence = self.evidence
        (evidence.failure, evidence.lookup) = (.resolveFailed, .blocked(name, by: server, answer: answer))
        return DecisionTable.cause(of: evidence)
    }

    private var wantedFamily: AddressFamily? { self.findings.families.count == 1 ? self.findings.families.first : nil }

    // Adds the failure of internet checks. A check of one server is not a witness; the target's silence is.
    private func addChecks(_ report: RungReport, to evidence: inout FailureEvidence) {
        evidence.internet = report.reason == .portal ? .portal(location: nil) : .failing
        guard let path = self.path, let observations = path.internet else { return }
        if case .portal(let location) = ConnectivityEvaluator.connectivity(observations) {
            return evidence.internet = .portal(location: location)
        }
        guard Set(observations.filter { $0.finding == .silent }.map(\.url.location.target.host)).count < 2 else {
            return
        }
        evidence.internet = .oneServer
        evidence.witnesses.removeAll { $0.kind == .internetCheck }
        if let answer = path.web[path.subject.address], !answer.hasReached(.connect),
            WebRungs.connectFailure(answer) == .timeout
        {
            evidence.witnesses.append(Witness(.target, .nothing))
        }
    }

    // Adds an ICMP error about a name server, from a router or this host.
    private func addRefusedQuestion(to evidence: inout FailureEvidence) {
        for server in self.findings.name?.servers ?? [] {
            for case .unreachable(let refusal?) in server.outcomes {
                (evidence.failure, evidence.refusal, evidence.peer) = (.connectFailed, refusal, server.server)
                evidence.local = server.verdict.path?.source
                return
            }
        }
        guard let name = self.findings.name else { return evidence.failure = .resolveFailed }
        // The kernel has a route, but a filter drops the packets.
        evidence.isFiltered = name.walks.values.contains { $0.failure == EPERM }
        if !evidence.isFiltered { evidence.kernel = self.refusal(.resolverNoRoute, nil) }
    }

    // Adds the target's answer, or the stage that a check of it reached.
    private func addAnswer(_ report: RungReport, to evidence: inout FailureEvidence) {
        let answer = self.path.flatMap { $0.web[$0.subject.address] } ?? HTTPCheck.Result(reached: nil)
        (evidence.text, evidence.local) = (answer.text, answer.local)
        switch report.rung {
        case .tls, .http:
            evidence.socketError = answer.isBrokenOff ? .reset : nil
            if report.rung == .tls {
                (evidence.failure, evidence.stage, evidence.handshake) = (.tlsFailed, .tls, answer.handshake)
                (evidence.certificateError, evidence.certificate) = (answer.certificateError, answer.certificate)
            } else {
                (evidence.failure, evidence.stage, evidence.status) = (.protocolError, .response, answer.status)
                if answer.status != nil { evidence.failure = .httpStatus }
            }
            guard answer.status == nil, answer.certificateError == nil,
                WebRungs.isLate(answer) || answer.isBrokenOff && report.rung == .http
            else {
                break
            }
            evidence.failure = .timedOut
            if WebRungs.isLate(answer) { (evidence.handshake, evidence.socketError) = (nil, nil) }
            // The connection is established.
            evidence.witnesses.append(Witness(.target, .destination))
        default:
            evidence.refusal = answer.refusal ?? self.path?.neighbourRefusal
            if report.reason == .refused, self.path != nil { evidence.socketError = .refused }
            evidence.port = self.findings.target.target.port
        }
    }

    // MARK: The kernel

    private func refusal(_ reason: UnreachableReason, _ report: RungReport?) -> HostCause.KernelRefusal {
        let family = self.path?.subject.address.family ?? .ipv4
        let link = self.path?.link(reason, among: self.findings.links)
        var refusal = HostCause.KernelRefusal(reason: reason, family: family)
        refusal.link = report?.link ?? link?.name
        refusal.liveAlternative = self.path?.explanation?.liveAlternative(reason)
        guard reason == .noRoute else { return refusal }
        refusal.linkSwitchedOff = self.linkSwitchedOff(family)?.name
        if refusal.linkSwitchedOff == nil, let link = self.linkWithoutAddress(family) {
            (refusal.reason, refusal.link) = (.noAddress, link.name)
        }
        return refusal
    }

    // The link that leads out, if only others have an address: bridges of containers, tunnels.
    private func linkWithoutAddress(_ family: AddressFamily) -> Link? {
        let outward = self.findings.links.filter {
            $0.isUsable && !$0.isExcluded && $0.master == nil && ![.loopback, .bridge, .tunnel].contains($0.kind)
        }
        return outward.contains { $0.usableFamilies.contains(family) } ? nil : outward.first
    }

    // IPv4 addresses stay on a link that is switched off; its routes do not.
    private func linkSwitchedOff(_ family: AddressFamily) -> Link? {
        self.findings.links.first { link in
            !link.isAdminUp && link.kind != .loopback && !link.isExcluded && !link.addresses.isEmpty
        }
    }

    // MARK: Witnesses

    /// All other parties contacted over this path.
    var witnesses: [Witness] {
        guard let path = self.path else { return [] }
        let gateway = path.provenGateway
        // A walk to a resolver on the link contacts no party beyond it, and a walk that this host could not send
        // contacts no party at all.
        let isBesideGateway = path.subject == .resolver(path.subject.address) && path.verdict.path?.gateway == nil
        let walks = [isBesideGateway ? nil : path.walk, path.sentinelWalk].compactMap(\.self)
        var witnesses = walks.filter { $0.failure == nil }.map {
            $0.witness(past: gateway, asking: path.subject.address)
        }
        if let passive = path.passive { witnesses.append(Witness(.attempt, .beyond(passive.remote))) }
        if let witness = path.connections?.witness { witnesses.append(witness) }
        if let observations = path.internet {
            switch ConnectivityEvaluator.connectivity(observations) {
            // Even an unexpected answer came from beyond.
            case .full, .limited: witnesses.append(Witness(.internetCheck, .beyond(nil)))
            case .portal, .none: witnesses.append(Witness(.internetCheck, .nothing))
            case .unknown: break
            }
        }
        witnesses += self.resolverWitnesses(path)
        witnesses += path.web.compactMap { address, answer in
            // A reset is an answer of the server, or of a firewall that speaks for it; other routers send ICMP errors.
            let isReached =
                answer.hasReached(.connect)
                || WebRungs.connectFailure(answer) == .refused && answer.refusal == nil
            // The silent party is not a witness. A party that answered is one, unless it is on this side of the gateway.
            guard address != path.subject.address || isReached && gateway != nil else { return nil }
            return Witness(.target, isReached ? .beyond(nil) : .nothing, refusal: answer.refusal)
        }
        return witnesses
    }

    // A resolver counts only if packets to it take the same gateway.
    private func resolverWitnesses(_ path: PathFindings) -> [Witness] {
        guard let gateway = path.verdict.path?.gateway else { return [] }
        return (self.findings.name?.servers ?? []).flatMap { server -> [Witness] in
            // A query that this host did not send says nothing about the path.
            let asked = server.outcomes.filter { $0 != .unreachable(nil) }
            guard server.verdict.path?.gateway == gateway, !asked.isEmpty else { return [] }
            let hasAnswered = asked.contains { outcome in
                if case .failed = outcome { true } else { outcome.isAnswer || outcome == .refused }
            }
            // The walk to the path's own resolver is already one of the path's walks.
            let walk = server.server == path.subject.address ? nil : self.findings.name?.walks[server.server]
            return [Witness(.resolver, hasAnswered ? .beyond(server.server) : .nothing)]
                + [walk?.witness(past: path.provenGateway, asking: path.subject.address)].compactMap(\.self)
        }
    }
}

extension HTTPCheck.Result {
    fileprivate var isBrokenOff: Bool {
        self.socketError == .reset || self.failure == .reset || self.failure == .truncated
    }
}
