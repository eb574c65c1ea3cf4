internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

/// The worker of ``QualityWatch``: sends echoes to the hosts on the way out, and measures it and targets.
struct WayOutMeter {
    private static let echoLimit = Duration.seconds(1)
    /// Echoes to each host in ten seconds: no user waits for the result, so they are sent slowly to disturb less.
    private static let measuringEchoes = 46

    let diagnostics: PathDiagnostics

    /// Sends each host on a path an echo; without hosts it searches them first.
    func echoes(to hosts: [QualityStatus.Host]?, on path: NetworkPath) async -> EchoRound {
        var answer = EchoRound()
        if hosts == nil {
            let found = await self.hosts(on: path)
            answer.found = (found, await self.router(path.gateway?.onLink(path.index)))
        }
        async let own = self.diagnostics.own(of: path.interface)
        answer.trips = await (hosts ?? answer.found?.hosts ?? []).concurrentMap {
            await self.trip(to: $0.address.onLink(path.index))
        }
        answer.own = await own
        answer.segments = self.diagnostics.dependencies.segments
        return answer
    }

    /// Measures a path or a target; nil if it cannot be measured.
    func measure(
        _ subject: QualitySubject, on path: NetworkPath, _ hosts: [QualityStatus.Host]
    ) async -> QualityEvidence? {
        let destinations = self.destinations(on: path)
        switch subject {
        case .network:
            guard let destination = destinations.first else { return nil }
            var meter = self.meter(path, to: destination)
            // The hosts are not searched again: on a lossy path a search may miss them. Two destinations share a late path.
            let two = zip(destinations.count > 1 ? [Segment.server, .reference] : [.reference], destinations)
            meter.path.hosts = (hosts.map { ($0.segment, $0.address) } + two).map { .init($0, $1) }
            return await meter.evidence(for: nil)
        case .target(let target):
            let status = self.diagnostics.monitor.status
            let own = status.targets.first { $0.target == target }?.addresses.map(\.address) ?? []
            let location = status.checks[target]?.check.location
            return await self.diagnostics.evidence(
                of: location.map(ExplainTarget.init) ?? ExplainTarget(target),
                comparedWith: destinations.filter { !own.contains($0) })
        }
    }

    private func trip(to address: IPAddress) async -> Duration? {
        switch await self.diagnostics.dependencies.echo(address, within: Self.echoLimit) {
        case .answered(_, let trip): trip
        case .silent, .refused, .tooLong, .failed: nil
        }
    }

    // The gateway, and the first router beyond it if a destination is known that may be sent packets.
    private func hosts(on path: NetworkPath) async -> [QualityStatus.Host] {
        let meter = self.destinations(on: path).first.map { self.meter(path, to: $0) }
        // One echo may be lost.
        guard let gateway = path.gateway,
            await ![1, 2, 3].concurrentMap({ _ in await self.trip(to: gateway.onLink(path.index)) })
                .allSatisfy({ $0 == nil })
        else { return [] }
        async let beyond = meter?.firstBeyond
        let hosts = [QualityStatus.Host(.router, gateway)]
        return await beyond.map { hosts + [QualityStatus.Host(.provider, $0)] } ?? hosts
    }

    // The router's link-layer address; the echoes before made the kernel ask for it.
    private func router(_ address: IPAddress?) async -> String? {
        guard let address else { return nil }
        let report = await self.diagnostics.monitor.routeReport(RouteQuery(questions: [RouteQuestion(address)]))
        return report.routes[address]?.explanation?.neighbour?.linkLayerAddress
    }

    private func meter(_ path: NetworkPath, to destination: IPAddress) -> QualityMeter {
        QualityMeter(
            diagnostics: self.diagnostics, path: QualityPath(wayOut: path, to: destination),
            echoes: Self.measuringEchoes, interval: .seconds(10) / Self.measuringEchoes)
    }

    // A target behind the same gateway, or a public address if the configuration allows to check the internet.
    private func destinations(on path: NetworkPath) -> [IPAddress] {
        let targets = self.diagnostics.monitor.status.targets.flatMap(\.addresses).filter { entry in
            entry.verdict.path?.identity == path.identity && entry.address != path.gateway
        }
        let sentinel =
            self.diagnostics.policy.isEnabled
            ? path.source.flatMap { self.diagnostics.monitor.sentinels[$0.family] } : nil
        var known: Set<IPAddress> = []
        return ([sentinel].compactMap(\.self) + targets.map(\.address)).filter { known.insert($0).inserted }
    }
}
