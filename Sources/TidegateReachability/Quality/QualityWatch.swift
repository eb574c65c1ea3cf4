internal import Synchronization
internal import TidegateAttribution
package import TidegateCore
internal import TidegateNetwork

/// Watches how good this host's way out and its targets are, with an echo each ten seconds to two hosts on the way.
///
/// It publishes what becomes slow, and measures thoroughly only what single samples make suspicious.
package final class QualityWatch: Sendable {
    /// From one echo to the next.
    private static let interval = Duration.seconds(10)
    /// How often the results of checks and requests are read.
    private static let checkInterval = Duration.seconds(2)
    /// The hosts on the way out are looked for again after so many echoes: others may answer by then.
    private static let searchInterval = 60
    /// The same while one of them is not found.
    private static let retryInterval = 6
    private static let echoLimit = Duration.seconds(1)
    /// To each host on the way out, in ten seconds: nothing waits for the answer, and it disturbs less.
    private static let measuringEchoes = 46

    /// What is usual is handed over each ten minutes, and when the watch stops.
    private static let keepingInterval = Duration.seconds(600)

    private let diagnostics: PathDiagnostics
    // Only ``run()`` changes it.
    private let machine: Mutex<QualityMachine>
    private let record: @Sendable (Segment, Duration) -> Void
    private let keep: @Sendable (QualityNormals) -> Void

    private var monitor: ReachabilityMonitor { self.diagnostics.monitor }
    private var now: QualityMachine.Moment {
        .init(monotonic: self.diagnostics.time.monotonic(), wall: self.diagnostics.time.wall())
    }

    /// A watch over this host's way out; it sends nothing before ``run()``.
    ///
    /// `normals` is what was usual before. `record` gets each round trip, and `keep` what is usual now.
    package init(
        _ diagnostics: PathDiagnostics, normals: QualityNormals = QualityNormals(),
        record: @escaping @Sendable (Segment, Duration) -> Void, keep: @escaping @Sendable (QualityNormals) -> Void
    ) {
        (self.diagnostics, self.record, self.keep) = (diagnostics, record, keep)
        self.machine = Mutex(QualityMachine(normals: normals))
    }

    /// Hands over what is usual now.
    package func keepNormals() { self.keep(self.machine.withLock { $0.normals }) }

    /// Watches until the Swift task is cancelled.
    package func run() async {
        var round = Round(next: self.now.monotonic + Self.interval, kept: self.now.monotonic, segments: self.segments)
        while !Task.isCancelled {
            let planned = min(self.now.monotonic + Self.checkInterval, round.next)
            guard await self.diagnostics.wait(planned - self.now.monotonic), !Task.isCancelled else { return }
            let late = self.now.monotonic - planned
            let status = self.monitor.status
            let isBroken = self.monitor.diagnosis?.isBroken ?? false
            let path = status.global.level >= .routed && !isBroken ? status.global.path : nil
            self.feed(.path(path))
            if let path {
                self.feedChecks(on: path, status, &round.seen)
                self.feedRequests(on: path, &round.lateRequest)
            } else {
                round.known = nil
            }
            let isRound = self.now.monotonic >= round.next
            if isRound { self.begin(&round) }
            // Traffic may cost money, a suspicion is being checked, or this process was late itself.
            guard let path, !path.metered.isCostly, self.monitor.diagnosis?.state != .checking,
                late <= Thresholds.lateTimer
            else { continue }
            if isRound { await self.ask(on: path, status, &round) }
            await self.measureIfDue(on: path, status, &round)
        }
    }

    /// What is done each ten seconds.
    private struct Round {
        var next: MonotonicTime
        /// When what is usual was last handed over.
        var kept: MonotonicTime
        /// The TCP segments of all programs at the last round.
        var segments: (sent: UInt64, repeated: UInt64)
        /// The last success of each target that was seen.
        var seen: [Target: WallTime] = [:]
        /// The last request with a late connection that was seen.
        var lateRequest: MonotonicTime?
        /// The path whose hosts are known, and the rounds since they were looked for.
        var known: NetworkPath.Identity?
        var count = 0
    }

    private func begin(_ round: inout Round) {
        let now = self.now.monotonic
        round.next = now + Self.interval
        if now - round.kept >= Self.keepingInterval {
            round.kept = now
            self.keepNormals()
        }
        let before = round.segments
        round.segments = self.segments
        self.feed(
            .segments(
                sent: round.segments.sent &- before.sent, repeated: round.segments.repeated &- before.repeated))
    }

    // Looks for the hosts on the way out, if they are not known, and sends each an echo.
    private func ask(on path: NetworkPath, _ status: ReachabilityStatus, _ round: inout Round) async {
        let interval = self.quality.hosts.count < 2 ? Self.retryInterval : Self.searchInterval
        // On a lossy path a search would lose hosts.
        if round.known != path.identity || round.count % interval == 0 && self.quality.network == nil {
            (round.known, round.count) = (path.identity, 0)
            let hosts = await self.hosts(on: path, status)
            self.feed(.hosts(hosts, router: await self.router(path.gateway?.onLink(path.index))))
        }
        round.count += 1
        let hosts = self.quality.hosts
        async let own = self.own(of: path.interface)
        let echoes = await hosts.concurrentMap { await self.echo($0.address.onLink(path.index)) }
        for (host, trip) in zip(hosts, echoes) { if let trip { self.record(host.segment, trip) } }
        self.feed(.echoes(echoes))
        if let own = await own { self.feed(.own(own)) }
    }

    private func measureIfDue(on path: NetworkPath, _ status: ReachabilityStatus, _ round: inout Round) async {
        let now = self.now.monotonic
        guard let subject = self.machine.withLock({ $0.due(at: now) }) else { return }
        let evidence = await self.evidence(of: subject, on: path, self.quality.hosts, status)
        // What was measured during a change of path says nothing about either.
        let isValid =
            self.monitor.status.global.path?.identity == path.identity
            && self.monitor.diagnosis.map { $0.state == .decided && !$0.isBroken } ?? true
        self.feed(.measured(subject, isValid ? evidence : nil))
        // The echo that has to confirm it comes soon.
        if self.machine.withLock({ $0.isUnconfirmed }) { round.next = self.now.monotonic + Self.checkInterval }
    }

    // A target on another path says nothing about this one.
    private func feedChecks(on path: NetworkPath, _ status: ReachabilityStatus, _ seen: inout [Target: WallTime]) {
        for entry in status.targets where entry.verdict.path?.identity == path.identity {
            guard let report = status.checks[entry.target],
                report.isReached == false || report.lastSuccess != seen[entry.target]
            else { continue }
            seen[entry.target] = report.lastSuccess
            self.feed(.checked(entry.target, report.isReached == true ? report.phases : nil))
        }
    }

    // Late connections of tasks and probes.
    private func feedRequests(on path: NetworkPath, _ seen: inout MonotonicTime?) {
        let moment = self.monitor.evidence.lastLateConnect(from: path.source, at: self.now.monotonic)
        guard let moment, moment != seen else { return }
        seen = moment
        self.feed(.lateConnects)
    }

    // The TCP segments of all programs so far.
    private var segments: (sent: UInt64, repeated: UInt64) {
        let traffic = self.diagnostics.dependencies.connections?.statistics.traffic.values.map(\.self) ?? []
        return traffic.reduce(into: (0, 0)) { sum, direction in
            sum = (sum.sent &+ direction.sentSegments, sum.repeated &+ direction.retransmittedSegments)
        }
    }

    private var quality: QualityStatus { self.machine.withLock { $0.status } }

    private func feed(_ input: QualityMachine.Input) {
        let now = self.now
        let (events, status) = self.machine.withLock { ($0.handle(input, at: now), $0.status) }
        // Clients never see a status that contradicts an event.
        self.monitor.setQuality(status)
        for event in events { self.monitor.bus.publish(.quality(event)) }
    }

    private func echo(_ address: IPAddress) async -> Duration? {
        switch await self.diagnostics.dependencies.echo(address, within: Self.echoLimit) {
        case .answered(_, let trip): trip
        case .silent, .refused, .tooLong, .failed: nil
        }
    }

    // MARK: The way out

    // The gateway, and the first router beyond it if a destination is known that may be sent packets.
    private func hosts(on path: NetworkPath, _ status: ReachabilityStatus) async -> [QualityStatus.Host] {
        let meter = self.destinations(on: path, status).first.map { self.meter(path, to: $0) }
        // One echo may be lost.
        guard let gateway = path.gateway,
            await ![1, 2, 3].concurrentMap({ _ in await self.echo(gateway.onLink(path.index)) })
                .allSatisfy({ $0 == nil })
        else { return [] }
        async let beyond = meter?.firstBeyond
        let hosts = [QualityStatus.Host(.router, gateway)]
        return await beyond.map { hosts + [QualityStatus.Host(.provider, $0)] } ?? hosts
    }

    // A driver that hangs must not stop the watch.
    private func own(of interface: String) async -> HostEvidence? {
        await Promise.value(orAfter: { _ = self.monitor.call(after: Self.echoLimit, $0) }) {
            self.diagnostics.dependencies.readInterface(interface, completion: $0)
        }
    }

    // The router's link-layer address; the echoes before made the kernel ask for it.
    private func router(_ address: IPAddress?) async -> String? {
        guard let address else { return nil }
        let report = await self.monitor.routeReport(RouteQuery(questions: [RouteQuestion(address)]))
        return report.routes[address]?.explanation?.neighbour?.linkLayerAddress
    }

    private func meter(_ path: NetworkPath, to destination: IPAddress) -> QualityMeter {
        QualityMeter(
            diagnostics: self.diagnostics, path: QualityPath(wayOut: path, to: destination),
            echoes: Self.measuringEchoes, interval: .seconds(10) / Self.measuringEchoes)
    }

    // A target behind the same gateway, or a public address if the configuration allows to check the internet.
    private func destinations(on path: NetworkPath, _ status: ReachabilityStatus) -> [IPAddress] {
        let targets = status.targets.flatMap(\.addresses).filter { entry in
            entry.verdict.path?.identity == path.identity && entry.address != path.gateway
        }
        let sentinel =
            self.diagnostics.policy.isEnabled
            ? path.source.flatMap { self.monitor.sentinels[$0.family] } : nil
        var known: Set<IPAddress> = []
        return ([sentinel].compactMap(\.self) + targets.map(\.address)).filter { known.insert($0).inserted }
    }

    private func evidence(
        of subject: QualityMachine.Subject, on path: NetworkPath, _ hosts: [QualityStatus.Host],
        _ status: ReachabilityStatus
    ) async -> QualityEvidence? {
        let destinations = self.destinations(on: path, status)
        switch subject {
        case .network:
            guard let destination = destinations.first else { return nil }
            var meter = self.meter(path, to: destination)
            // Not searched for: on a lossy path the search would fail. Two destinations show what all suffer from.
            let two = zip(destinations.count > 1 ? [Segment.server, .reference] : [.reference], destinations)
            meter.path.hosts = (hosts.map { ($0.segment, $0.address) } + two).map { .init($0, $1) }
            return await meter.evidence(for: nil)
        case .target(let target):
            let own = status.targets.first { $0.target == target }?.addresses.map(\.address) ?? []
            let location = status.checks[target]?.check.location
            return await self.diagnostics.evidence(
                of: location.map(ExplainTarget.init) ?? ExplainTarget(target),
                comparedWith: destinations.filter { !own.contains($0) })
        }
    }
}
