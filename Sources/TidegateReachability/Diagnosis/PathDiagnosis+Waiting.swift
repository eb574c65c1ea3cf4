internal import TidegateCore
internal import TidegateNetwork

// How long a diagnosis waits for a silent target, and whom it asks meanwhile.
extension PathDiagnosis {
    private enum Answer: Sendable {
        case gateway(GatewayFindings)
        case web([IPAddress: HTTPCheck.Result])
        case walks(target: HopWalkResult?, sentinel: HopWalkResult?)
        case smallPackets(pass: Bool)
        case timeIsUp
    }

    /// Asks the target, and its gateway meanwhile; whoever lies between is asked once the target has been silent.
    ///
    /// A target that answers makes the rest moot. One that does not gets its time, unless the others have told why.
    func asked(
        _ known: PathFindings, _ subject: Subject, _ usable: [IPAddress], _ target: ExplainTarget
    ) async -> PathFindings {
        async let internet = self.diagnostics.policy.urls.isEmpty ? nil : self.internet(subject.family)
        let start = self.now
        let isAsked = target.lastStage != nil && !usable.isEmpty
        var path = await withTaskGroup(of: Answer.self) { group in
            var (path, isEnding) = (known, false)
            if known.verdict.level != .unknown { group.addTask { .gateway(await self.probed(known)) } }
            if isAsked {
                group.addTask { .web(await self.checkTarget(target, at: usable)) }
                group.addTask { .smallPackets(pass: await self.smallPacketsPass(target, at: usable)) }
            }
            let done = known.walk
            group.addTask { await self.walks(known, done, after: isAsked ? SilenceTiming.patience : .zero) }
            for await answer in group {
                switch answer {
                case .gateway(let gateway): path.gateway = gateway
                case .web(let web):
                    path.web = web
                    if web.values.contains(where: { $0.hasReached(.connect) }) { group.cancelAll() }
                case .walks(let walk, let sentinel): (path.walk, path.sentinelWalk) = (walk, sentinel)
                case .smallPackets(let pass): path.losesLargePackets = pass && path.web.isEmpty
                case .timeIsUp: group.cancelAll()
                }
                self.progress?.update { [path] in $0.paths[subject.family] = path }
                guard isAsked, !isEnding, path.web.isEmpty, path.isSilenceExplained else { continue }
                isEnding = true
                let rest = SilenceTiming.certainty - (self.now - start)
                group.addTask {
                    _ = await self.pause(for: max(.zero, rest))
                    return .timeIsUp
                }
            }
            return path
        }
        path.gateway.firstHop = path.walk?.firstHop ?? path.sentinelWalk?.firstHop
        path.internet = await internet
        return path
    }

    private func walks(
        _ path: PathFindings, _ done: HopWalkResult?, after patience: Duration
    ) async -> Answer {
        guard await self.pause(for: patience), path.verdict.level >= .routed,
            path.verdict.path?.gateway != nil || path.leadsToGateway
        else { return .walks(target: path.walk, sentinel: path.sentinelWalk) }
        let subject = path.subject.address
        let isAllowed = self.walksToInternet || path.subject != .sentinel(subject)
        async let walk = done == nil && isAllowed ? self.walk(to: subject, path.port) : done
        async let sentinel = self.sentinelWalk(path)
        return .walks(target: await walk, sentinel: await sentinel)
    }

    /// Whether a handshake succeeds in small packets with a server that has been silent in larger ones.
    ///
    /// A server's certificates fill the largest packets that the link allows: where those are lost on the way, the
    /// handshake hangs although the connection stands.
    private func smallPacketsPass(_ target: ExplainTarget, at addresses: [IPAddress]) async -> Bool {
        guard target.location?.scheme == .https, let address = addresses.first,
            await self.pause(for: SilenceTiming.patience)
        else { return false }
        var question = HTTPCheck.Request(
            url: target.url, address: address, lastStage: .tls, limit: min(self.rest, .seconds(1)))
        question.segmentSize = PathDiagnosis.smallSegment
        return await self.diagnostics.web.check(question).hasReached(.tls)
    }

    // What every link of an IPv4 path has to carry: 576 bytes without the headers (RFC 9293, 3.7.1).
    private static let smallSegment = 536

    /// Waits on the monitor's thread; false if the Swift task was cancelled meanwhile.
    func pause(for duration: Duration) async -> Bool {
        if duration > .zero {
            _ = await Promise<Bool>().value { resume in
                _ = self.diagnostics.monitor.call(after: duration, resume)
            }
        }
        return !Task.isCancelled
    }

    private func sentinelWalk(_ path: PathFindings) async -> HopWalkResult? {
        if let walk = path.sentinelWalk { return walk }
        guard self.walksToInternet, let sentinel = path.sentinel, sentinel != path.subject.address else { return nil }
        return await self.walk(to: sentinel, nil)
    }

    /// Walks to an address; without a port of its own to one that traceroute(8) uses.
    func walk(to address: IPAddress, _ port: UInt16?) async -> HopWalkResult? {
        await self.diagnostics.dependencies.walk(
            to: address, port: port ?? 33_434, within: min(self.rest, HopWalk.maximumDuration))
    }

    // A host on the link itself answers for its link-layer address, whatever its firewall says.
    func neighbourRefusal(_ path: PathFindings) async -> ICMPError? {
        let address = path.subject.address
        guard path.subject != .sentinel(address), path.verdict.level >= .routed,
            let networkPath = path.verdict.path, networkPath.gateway == nil, path.gateway.resolvesNeighbours,
            !path.verdict.notes.contains(.thisHost)
        else { return nil }
        let limit = min(self.rest, SilenceTiming.resolution)
        let place = address.onLink(networkPath.index)
        switch await self.diagnostics.dependencies.udpProbe(place, within: limit) {
        case .unresolved(let refusal)?:
            let (type, code): (UInt8, UInt8) = address.family == .ipv4 ? (3, 1) : (1, 3)
            return refusal ?? ICMPError(offender: nil, type: type, code: code)
        case .answered?, .refused?, .silent?, .failed?, nil: return nil
        }
    }

    /// What is known about a path's gateway after a UDP probe.
    func probed(_ path: PathFindings) async -> GatewayFindings {
        guard let networkPath = path.verdict.path, let gateway = networkPath.gateway, path.gateway.resolvesNeighbours
        else {
            return path.gateway
        }
        let (start, place) = (self.now, gateway.onLink(networkPath.index))
        let short = min(self.rest, .seconds(1))
        let probe = await self.diagnostics.dependencies.udpProbe(place, within: short)
        // The probe has made the kernel resolve the neighbour, which takes three seconds to fail.
        var later = await self.gateway(path, probe, since: start)
        guard probe == .silent, !later.isResolved, !Task.isCancelled else { return later }
        if path.gateway.neighbour?.state == .failed {
            later.udpProbe = .unresolved(nil)  // the kernel had given it up before
            return later
        }
        let rest = min(self.rest, SilenceTiming.resolution - short)
        let second = await self.diagnostics.dependencies.udpProbe(place, within: rest)
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
        return later
    }
}

extension IPAddress {
    /// The same address with the zone that a link-local IPv6 one needs.
    fileprivate func onLink(_ index: UInt32) -> IPAddress {
        guard self.family == .ipv6, self.isLinkLocal, self.zone == 0 else { return self }
        return IPAddress(octets: self.octets, zone: index) ?? self
    }
}
