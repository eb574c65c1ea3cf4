internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

// Decides how long a diagnosis waits for a silent target, and which other parties it contacts in the meantime.
extension PathDiagnosis {
    private enum Answer: Sendable {
        case gateway(GatewayFindings)
        case web([IPAddress: HTTPCheck.Result])
        case walks(target: HopWalkResult?, sentinel: HopWalkResult?)
        case neighbour(ICMPError?)
        case smallPackets(pass: Bool)
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
            if known.verdict.level != .unknown, !isProbed {
                group.addTask { .gateway(await self.probed(known, since: start)) }
            }
            if let requests {
                group.addTask { .web(await requests.results()) }
                group.addTask { .smallPackets(pass: await requests.smallPacketsPass()) }
            }
            let delay = requests == nil ? .zero : Thresholds.patience
            group.addTask { await self.walks(known, after: delay) }
            group.addTask { .neighbour(await self.neighbourRefusal(known, after: delay, since: start)) }
            for await answer in group {
                switch answer {
                case .gateway(let gateway): path.gateway = gateway
                case .web(let web):
                    path.web = web
                    if web.values.contains(where: { $0.hasReached(.connect) }) { group.cancelAll() }
                case .walks(let walk, let sentinel): (path.walk, path.sentinelWalk) = (walk, sentinel)
                case .neighbour(let refusal): path.neighbourRefusal = refusal
                case .smallPackets(let pass): path.losesLargePackets = pass && path.web.isEmpty
                case .timeIsUp: if requests?.isSent == false { group.cancelAll() }
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
        if requests.isSent { return nil }
        if path.isSilenceExplained { return Thresholds.certainty }
        return requests.isInHandshake(path) ? Thresholds.handshake : nil
    }

    private func walks(_ path: PathFindings, after patience: Duration) async -> Answer {
        guard await self.pause(for: patience), path.verdict.level >= .routed,
            path.verdict.path?.gateway != nil || path.leadsToGateway
        else { return .walks(target: path.walk, sentinel: path.sentinelWalk) }
        let isAllowed = self.walksToInternet || path.subject != .sentinel(path.subject.address)
        async let walk = path.walk == nil && isAllowed ? self.walk(to: path.subject.address, path.port) : path.walk
        async let sentinel = self.sentinelWalk(path)
        return .walks(target: await walk, sentinel: await sentinel)
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
            self.diagnostics.gateways.answeredAgo($0, at: self.now)
        }
        return later
    }
}

extension IPAddress {
    /// The address with the zone that a link-local IPv6 address needs.
    func onLink(_ index: UInt32) -> IPAddress {
        guard self.family == .ipv6, self.isLinkLocal, self.zone == 0 else { return self }
        return IPAddress(octets: self.octets, zone: index) ?? self
    }
}
