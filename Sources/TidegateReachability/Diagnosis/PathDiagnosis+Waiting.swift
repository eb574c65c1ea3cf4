internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

// Decides how long a diagnosis waits for a silent target, and which other parties it contacts in the meantime.
extension PathDiagnosis {
    private enum Answer: Sendable {
        case gateway(GatewayFindings)
        case web([IPAddress: HTTPCheck.Result])
        case walks(target: HopWalkResult?, sentinel: HopWalkResult?, HostEvidence?)
        case neighbour(ICMPError?)
        case tunnel(TunnelFindings?)
        case fittingPacket(Int?)
        case timeIsUp
    }

    /// Contacts the target and its gateway in parallel, and the hops between them if the target stays silent.
    ///
    /// An answer from the target ends the rest. A silent target gets its full time, unless other findings explain the
    /// silence.
    func asked(
        _ known: PathFindings, _ requests: TargetRequests?, isProbed: Bool, resolvingLimit: Duration
    ) async -> PathFindings {
        let family = known.subject.address.family
        async let internet =
            self.diagnostics.policy.urls.isEmpty ? nil : self.internet(family, resolvingWithin: resolvingLimit)
        let start = self.now
        var path = await withTaskGroup(of: Answer.self) { group in
            var path = known
            var end: MonotonicTime?
            let asksGateway = known.verdict.level != .unknown && !isProbed
            if asksGateway { group.addTask { .gateway(await self.probed(known, since: start)) } }
            if let requests {
                group.addTask { .web(await requests.results()) }
                group.addTask { .fittingPacket(await requests.fittingPacket()) }
            }
            let delay = requests == nil ? .zero : Thresholds.patience
            group.addTask { await self.walks(known, after: delay) }
            group.addTask { .tunnel(await self.tunnel(known, after: delay)) }
            group.addTask { .neighbour(await self.neighbourRefusal(known, after: delay, since: start)) }
            for await answer in group {
                switch answer {
                case .gateway(let gateway): path.gateway = gateway
                case .web(let web):
                    path.web = web
                    if web.values.contains(where: { $0.hasReached(.connect) }) { group.cancelAll() }
                case .walks(let walk, let sentinel, let host): path.add(walk, sentinel, host)
                case .neighbour(let refusal): path.neighbourRefusal = refusal
                case .tunnel(let tunnel): path.tunnel = tunnel
                case .fittingPacket(let size): path.fittingPacket = path.web.isEmpty ? size : nil
                case .timeIsUp: if requests?.isSent == false || path.fittingPacket != nil { group.cancelAll() }
                }
                self.progress?.update { [path] in $0.paths[family] = path }
                guard let requests, path.web.isEmpty, let patience = self.patience(path, requests),
                    end.map({ start + patience < $0 }) ?? true
                else { continue }
                end = start + patience
                group.addTask {
                    _ = await self.pause(for: max(.zero, patience - requests.duration))
                    return .timeIsUp
                }
            }
            return path
        }
        path.gateway.firstHop = path.walk?.firstHop ?? path.sentinelWalk?.firstHop ?? path.gateway.firstHop
        path.internet = await internet
        // Read last, so that these answers are more recent than the target's silence.
        path.connections = await self.diagnostics.connections(path, since: start)
        return path
    }

    // How long to wait for a silent target after the first packet to it; nil for its full time.
    private func patience(_ path: PathFindings, _ requests: TargetRequests) -> Duration? {
        if path.fittingPacket != nil { return .zero }
        if requests.isSent { return nil }
        if path.isSilenceExplained { return Thresholds.certainty }
        return requests.isInHandshake(path) ? Thresholds.handshake : nil
    }

    private func walks(_ path: PathFindings, after patience: Duration) async -> Answer {
        let link = path.verdict.path?.interface
        let before = await self.diagnostics.own(of: link)
        guard await self.pause(for: patience), path.verdict.level >= .routed,
            path.verdict.path?.gateway != nil || path.leadsToGateway
        else { return .walks(target: path.walk, sentinel: path.sentinelWalk, nil) }
        let isAllowed = self.walksToInternet || path.subject != .sentinel(path.subject.address)
        let quiet = await self.diagnostics.own(of: link)
        async let walk = path.walk == nil && isAllowed ? self.targetWalk(path) : path.walk
        async let sentinel = self.sentinelWalk(path)
        let walks = (target: await walk, sentinel: await sentinel)
        let host = await self.diagnostics.own(of: link)?.dropping(since: quiet, before)
        // One destination may be silent for reasons of its own, so a second network is asked before the internet is.
        guard self.walksToInternet, case .sentinel(let first) = path.subject, let walk = walks.target,
            case .router = walk.reach(past: path.provenGateway, asking: first),
            walks.sentinel?.destination ?? first == first, let second = first.family.sentinels.dropFirst().first
        else { return .walks(target: walks.target, sentinel: walks.sentinel, host) }
        return .walks(target: walk, sentinel: await self.walk(to: second, nil), host)
    }

    // A router that limits its errors may have left out the one for TCP: it is asked again a second later.
    private func targetWalk(_ path: PathFindings) async -> HopWalkResult? {
        var walk = await self.walk(to: path.subject.address, path.port)
        guard let end = walk?.tcpEnd, await self.pause(for: .seconds(1)),
            let again = await self.walk(to: path.subject.address, path.port)
        else { return walk }
        walk?.tcpEnd = again.tcpEnd == end ? end : nil
        return walk
    }

    // Counts a tunnel's packets during a walk inside it and one to its far end below it.
    private func tunnel(_ path: PathFindings, after patience: Duration) async -> TunnelFindings? {
        guard path.isInTunnel, let way = path.verdict.path,
            self.walksToInternet || path.subject != .sentinel(path.subject.address),
            let explanation = path.explanation, await self.pause(for: patience),
            let before = await self.diagnostics.own(of: way.interface)
        else { return nil }
        var found = TunnelFindings(link: way.interface)
        async let inside = self.walk(to: path.subject.address, path.port)
        found.below = await self.underlay(explanation, of: way)
        found.inside = await inside
        guard let grown = await self.diagnostics.own(of: way.interface)?.since(before), !Task.isCancelled,
            let packets = grown.packets, let received = grown.receivedPackets, packets >= received
        else { return nil }
        (found.sent, found.received) = (packets - received, received)
        return found
    }

    // The path past a tunnel: to the single public address that has a route of its own, else the default one.
    private func underlay(_ explanation: RouteExplanation, of tunnel: NetworkPath) async -> TunnelFindings.Underlay? {
        let family: AddressFamily =
            tunnel.source?.isTranslated ?? false ? .ipv6 : explanation.question.destination.family
        let far = explanation.hostRoutes.filter { route in
            route.prefix.address.isGlobal && route.legs.allSatisfy { $0.link != tunnel.index }
        }
        let leg = (explanation.liveDefaults + far).flatMap(\.legs).last { $0.link != tunnel.index }
        guard leg != nil || family == .ipv6 else { return nil }
        var below = TunnelFindings.Underlay(link: leg.flatMap { explanation.names[$0.link] }, gateway: leg?.gateway)
        if far.count == 1 { below.walk = await self.walk(to: far[0].prefix.address, nil) }
        // A far end may be silent for reasons of its own. What follows the default route goes past the tunnel only if
        // that leads elsewhere.
        let isPast = !explanation.isDefault || family != explanation.question.destination.family
        guard self.walksToInternet, isPast, !(below.walk?.isDestinationReached ?? false),
            let sentinel = family.sentinels.first
        else { return below }
        below.walk = await self.walk(to: sentinel, nil)
        return below
    }

    /// Waits on the monitor's thread; false if the Swift task was cancelled in the meantime.
    func pause(for duration: Duration) async -> Bool {
        if duration > .zero {
            _ = await Promise<Bool>().value { _ = self.diagnostics.monitor.call(after: duration, $0) }
        }
        return !Task.isCancelled
    }

    private func sentinelWalk(_ path: PathFindings) async -> HopWalkResult? {
        if let walk = path.sentinelWalk { return walk }
        guard self.walksToInternet, let sentinel = path.sentinel, sentinel != path.subject.address else { return nil }
        return await self.walk(to: sentinel, nil)
    }

    /// Walks to an address; without a port it uses one that traceroute(8) uses.
    func walk(to address: IPAddress, _ port: UInt16?) async -> HopWalkResult? {
        await self.diagnostics.dependencies.walk(
            to: address, port: port ?? 33_434, within: min(self.rest, HopWalk.maximumDuration))
    }

    // The error for a host on the link, which answers requests for its link-layer address regardless of its firewall.
    // The first packet to it was sent at `start`.
    private func neighbourRefusal(
        _ path: PathFindings, after patience: Duration, since start: MonotonicTime
    ) async -> ICMPError? {
        let address = path.subject.address
        guard path.subject != .sentinel(address), path.verdict.level >= .routed,
            let networkPath = path.verdict.path, networkPath.gateway == nil, path.gateway.resolvesNeighbours,
            !path.verdict.notes.contains(.thisHost), await self.pause(for: patience)
        else { return nil }
        let limit = min(self.rest, Thresholds.untilCertain(since: start, at: self.now))
        let probe = await self.diagnostics.dependencies.udpProbe(address.onLink(networkPath.index), within: limit)
        let (type, code): (UInt8, UInt8) = address.family == .ipv4 ? (3, 1) : (1, 3)
        let own = ICMPError(offender: nil, type: type, code: code)
        switch probe {
        case .unresolved(let refusal)?: return refusal ?? own
        case .silent?: return await self.gateway(path, probe, since: start).answer == .unresolved ? own : nil
        case .answered?, .refused?, .failed?, nil: return nil
        }
    }

    /// The findings about a path's gateway after probing it; the first packet over this path was sent at `start`.
    ///
    /// It sends one byte by UDP. A gateway that is found on its link but stays silent gets three more packets: a SYN, a
    /// second byte and an echo request. A gateway that is not found gets a second byte.
    func probed(_ path: PathFindings, since start: MonotonicTime) async -> GatewayFindings {
        guard let networkPath = path.verdict.path, let gateway = networkPath.gateway, path.gateway.resolvesNeighbours
        else {
            return path.gateway
        }
        let place = gateway.onLink(networkPath.index)
        let dependencies = self.diagnostics.dependencies
        let probe = await dependencies.udpProbe(place, within: min(self.rest, Thresholds.patience))
        // Meanwhile the kernel resolves the neighbour: it asks every second and gives up after three.
        var later = await self.gateway(path, probe, since: start)
        guard probe == .silent, !Task.isCancelled else { return later }
        if later.isResolved {
            let limit = min(self.rest, .seconds(1) - Thresholds.patience)
            let time = await Promise.value(orAfter: { _ = self.diagnostics.monitor.call(after: limit, $0) }) {
                dependencies.ask(place, within: limit, answered: $0)
            }
            // The entry may have been confirmed since.
            later = await self.gateway(path, probe, since: start)
            later.firstHop = time
            return later
        }
        if path.gateway.neighbour?.state == .failed {
            later.udpProbe = .unresolved(nil)  // the kernel had given it up before
            return later
        }
        let rest = min(self.rest, Thresholds.untilCertain(since: start, at: self.now))
        let second = await dependencies.udpProbe(place, within: rest)
        return await self.gateway(path, second ?? probe, since: start)
    }

    private func gateway(
        _ path: PathFindings, _ probe: UDPProbe.Result?, since start: MonotonicTime
    ) async -> GatewayFindings {
        let address = path.subject.address
        let report = await self.report([address], port: nil)
        var later = report.unavailableReason == nil ? report.gateway(address) : path.gateway
        later.udpProbe = probe
        later.probedAgo = self.now - start
        later.answeredAgo = path.verdict.path?.gatewayKey.flatMap {
            self.diagnostics.memory.answeredAgo($0, at: self.now)
        }
        return later
    }
}

extension HostEvidence {
    /// The growth since `quiet`, without the packets that this host drops anyway: their rate between `before` and `quiet`.
    fileprivate func dropping(since quiet: HostEvidence?, _ before: HostEvidence?) -> HostEvidence? {
        guard let quiet, let before else { return nil }
        var grown = self.since(quiet)
        // A walk takes three times as long as the patience before it. rp_filter drops packets for another cause.
        let others = (quiet.since(before).undeliveredPackets ?? 0) * 6 + (grown.misroutedPackets ?? 0)
        grown.undeliveredPackets = grown.undeliveredPackets.map { $0 > others ? $0 - others : 0 }
        return grown
    }
}

extension IPAddress {
    /// The address with the zone that a link-local IPv6 address needs.
    func onLink(_ index: UInt32) -> IPAddress {
        guard self.family == .ipv6, self.isLinkLocal, self.zone == 0 else { return self }
        return IPAddress(octets: self.octets, zone: index) ?? self
    }
}
