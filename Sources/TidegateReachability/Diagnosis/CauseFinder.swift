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
        var cause = DecisionTable.cause(of: self.evidence(of: report))
        // A full table has the same error as a filter.
        if case .thisHost(.filter) = cause, let table = self.path?.fullTable {
            cause = .thisHost(.connectionTable(count: table.count, limit: table.limit))
        }
        return (cause, DecisionTable.rung(of: cause, shownBy: report.rung, self.witnesses))
    }

    /// The cause of a silence on this path.
    func silence(_ silent: SilenceEvidence.Silent) -> Cause {
        guard let path = self.path else { return .unknown(.silence) }
        var evidence = SilenceEvidence(
            silent: silent, gateway: path.gatewayEvidence, witnesses: self.witnesses,
            fittingPacket: path.fittingPacket)
        evidence.shown = self.shown
        let cause = DecisionTable.cause(of: evidence)
        guard case .onTheWay(.largePackets(_, let size)) = cause else { return cause }
        return .onTheWay(.largePackets(link: path.verdict.path?.interface, fitting: size))
    }

    // MARK: Evidence

    private var evidence: FailureEvidence {
        // The rung itself already shows that this host has a path.
        let verdict = Verdict(level: .unknown, path: self.path?.verdict.path, notes: self.path?.verdict.notes ?? [])
        var evidence = FailureEvidence(
            failure: .timedOut, peer: self.path?.subject.address, before: verdict, after: verdict)
        evidence.isOfThisPath = true
        guard let path = self.path else { return evidence }
        (evidence.gateway, evidence.witnesses, evidence.shown) = (path.gatewayEvidence, self.witnesses, self.shown)
        (evidence.fittingPacket, evidence.isFiltered) = (path.fittingPacket, path.walk?.failure == EPERM)
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
            if case .silent(let servers)? = evidence.lookup {
                evidence.shown = evidence.shown ?? self.withoutRoute(servers)
            }
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

    // MARK: This host's tables

    /// The cause that this host's own tables, or the counters of a tunnel, show; nil if they show none.
    var shown: Cause? { self.tunnel ?? self.own.map { .thisHost($0) } ?? self.filter }

    // A filter that drops the packets of the target alone: one of this host, or one of TCP on the way.
    private var filter: Cause? {
        guard let path = self.path, case .target(let address) = path.subject, !path.web.isEmpty,
            path.web.values.allSatisfy({ !$0.hasReached(.connect) && $0.socketError != .refused })
        else { return nil }
        if path.dropped >= Thresholds.droppedPackets, address.family == .ipv4, path.walk?.isDestinationReached == false
        {
            return .thisHost(.dropsAnswers(count: path.dropped, from: address))
        }
        guard let port = path.port, let router = path.walk?.tcpEnd else { return nil }
        return .onTheWay(.tcpEnds(after: router, port: port))
    }

    // A silence inside a tunnel: its own packets, the link below it, or its far end.
    private var tunnel: Cause? {
        guard let path = self.path, let tunnel = path.tunnel, !tunnel.isAnswering, !self.isNameServed(path) else {
            return nil
        }
        guard tunnel.received == 0 else {
            guard let far = tunnel.inside?.lastAnswer, far.hop == 1, tunnel.inside?.refusal == nil,
                path.web.values.allSatisfy({ $0.refusal == nil })
            else { return nil }
            return .onTheWay(.tunnelEnds(tunnel.link, after: far.address))
        }
        guard tunnel.sent > 0 else { return nil }
        if path.verdict.path?.source?.isTranslated ?? false {
            let isIPv6Working = tunnel.below?.walk?.isDestinationReached ?? false
            return isIPv6Working ? .thisHost(.silentTranslator(tunnel.link)) : nil
        }
        guard let below = tunnel.below else {
            if tunnel.isLine { return .provider(.silentLine(tunnel.link)) }
            // Its own packets may leave by the other IP version, or in another network namespace.
            let others = self.findings.links.filter { $0.isUsable && $0.kind != .tunnel && !$0.usableFamilies.isEmpty }
            let isOnlyWay =
                path.explanation?.isDefault ?? false && !others.isEmpty
                && others.allSatisfy { $0.usableFamilies == [path.subject.address.family] }
            return isOnlyWay ? .thisHost(.tunnelInItself(tunnel.link)) : .unknown(.silentTunnel(tunnel.link))
        }
        guard let walk = below.walk, let link = below.link else { return .unknown(.silentTunnel(tunnel.link)) }
        switch walk.reach(past: below.gateway, asking: walk.destination) {
        case .nothing: return .unknown(.silentTunnel(tunnel.link))
        case .gateway: return .provider(.nothingBeyond(gateway: below.gateway))
        case .router(let router) where walk.lastAnswer?.hop == 2: return .provider(.ends(after: router))
        case .router, .beyond, .destination: return .onTheWay(.silentTunnel(tunnel.link, over: link))
        }
    }

    // How the tables keep packets or answers from this path.
    private var own: HostCause? {
        guard let path = self.path, let way = path.verdict.path, let gateway = way.gateway,
            !path.verdict.notes.contains(.tunnel)
        else { return nil }
        let witnesses = self.witnesses
        let isWorking = witnesses.contains(where: \.isEnd)
        let isDead = !witnesses.isEmpty && witnesses.allSatisfy { $0.reach == .nothing }
        if isWorking, let walk = path.walk, path.explanation?.isDefault ?? false, let router = walk.publicEnd {
            let isResolver = path.subject == .resolver(walk.destination)
            return .privateAddress(walk.destination, isResolver: isResolver, after: router, down: self.downTunnel)
        }
        let isNearOnly = path.walk?.answers.allSatisfy({ $0.hop == 1 }) ?? false
        if let source = way.source, let other = self.findings.links.holder(of: source, besides: way.index),
            isDead || !path.hasUsualSource && isNearOnly
        {
            return .foreignSource(source, link: way.interface, of: other.name)
        }
        if isDead, path.gateway.neighbour?.state == .permanent, !path.gateway.hasAnswered {
            return .staticNeighbour(gateway, link: way.interface)
        }
        // Strays of other networks are counted as well, but they are few.
        let isFiltered = !isWorking && !witnesses.isEmpty && path.misrouted >= Thresholds.misroutedPackets
        return isFiltered ? .reversePathFilter(count: path.misrouted, link: way.interface) : nil
    }

    // True if a name server inside the tunnel answers, or one of this host found a new name.
    private func isNameServed(_ path: PathFindings) -> Bool {
        let servers = self.findings.name?.servers ?? []
        return self.findings.name?.isAskedBeyond ?? false
            || servers.contains { $0.hasAnswered && $0.verdict.path?.index == path.verdict.path?.index }
    }

    // Private name servers that are asked on the internet, such as those of a tunnel that is gone.
    private func withoutRoute(_ servers: [IPAddress]) -> Cause? {
        guard let name = self.findings.name, let gateway = self.path?.verdict.path?.gateway,
            self.witnesses.contains(where: \.isEnd),
            name.servers.allSatisfy({ $0.server.isPrivate && $0.verdict.path?.gateway == gateway })
        else { return nil }
        return name.walks.values.lazy.compactMap { walk in
            servers.contains(walk.destination) ? walk.publicEnd.map { (walk.destination, $0) } : nil
        }.first.map { .thisHost(.privateAddress($0.0, isResolver: true, after: $0.1, down: self.downTunnel)) }
    }

    // The kernel's own devices, such as tunl0, are always down, and have no address.
    private var downTunnel: String? {
        self.findings.links.first { $0.kind == .tunnel && !$0.isUsable && !$0.addresses.isEmpty }?.name
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
        // Two walks to one destination are no two networks.
        let second = path.sentinelWalk?.destination == path.walk?.destination ? nil : path.sentinelWalk
        let walks = [isBesideGateway ? nil : path.walk, second].compactMap(\.self)
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
        // Silence inside a tunnel says nothing of the path below it.
        return path.isInTunnel ? witnesses.filter(\.isBeyondGateway) : witnesses
    }

    // A resolver on the router at which walks end says no more than they do.
    private func walksEnd(at server: IPAddress) -> Bool {
        let walks = [self.path?.walk, self.path?.sentinelWalk].compactMap(\.self)
        return walks.contains { !$0.isDestinationReached && $0.lastAnswer?.address == server }
    }

    // A resolver counts only if packets to it take the same gateway.
    private func resolverWitnesses(_ path: PathFindings) -> [Witness] {
        guard let gateway = path.verdict.path?.gateway else { return [] }
        let name = self.findings.name
        return ((name?.servers ?? []) + (name?.upstreams ?? [])).flatMap { server -> [Witness] in
            // A query that this host did not send says nothing about the path.
            let asked = server.outcomes.filter { $0 != .unreachable(nil) }
            guard server.verdict.path?.gateway == gateway, !asked.isEmpty, !self.walksEnd(at: server.server) else {
                return []
            }
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

extension [Link] {
    /// The link that has an address which another link sends with although it has addresses of its own.
    fileprivate func holder(of source: IPAddress, besides index: UInt32) -> Link? {
        let (own, others) = (self.first { $0.index == index }, self.filter { $0.index != index })
        guard let own, own.usableFamilies.contains(source.family), !own.holds(source) else { return nil }
        // An address of loopback, a bridge or a virtual link is the host's as a whole.
        return others.first { [.ethernet, .wifi, .cellular].contains($0.kind) && $0.holds(source) }
    }
}

extension Link {
    fileprivate func holds(_ address: IPAddress) -> Bool { self.addresses.contains { $0.address == address } }
}

extension HopWalkResult {
    /// The router of the internet at which packets to a private address end; nil if that is one of a private network.
    fileprivate var publicEnd: IPAddress? {
        guard self.destination.family == .ipv4, self.destination.isPrivate, !self.isDestinationReached else {
            return nil
        }
        guard let last = self.lastAnswer, last.hop > 1, !last.address.isPrivate, !last.address.isLinkLocal else {
            return nil
        }
        return last.address
    }
}

extension HTTPCheck.Result {
    fileprivate var isBrokenOff: Bool {
        self.socketError == .reset || self.failure == .reset || self.failure == .truncated
    }
}
