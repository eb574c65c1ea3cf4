internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

/// Measures every part of the path to a target by echoes.
struct QualityMeter: Sendable {
    private typealias Host = QualityEvidence.Host

    /// From one echo to the next if more time was asked for.
    private static let quietInterval = Duration.milliseconds(40)
    /// A later answer counts as lost.
    private static let echoLimit = Duration.seconds(1)
    private static let searchLimit = Duration.milliseconds(550)
    /// The first host beyond the router is looked for up to this hop; a router at home may be behind another one.
    private static let hopLimits = 2...4

    let diagnostics: PathDiagnostics
    var path: QualityPath
    /// To each host: 46 show a loss of 10 %, and 80 also where it begins.
    var echoes = 80
    /// From one echo to the next; with the search before and the last answers it all takes four seconds.
    var interval = Duration.milliseconds(25)

    /// What was measured, for `time` or the shortest time that shows anything.
    func evidence(for time: Duration?) async -> QualityEvidence {
        var evidence = self.path.evidence
        async let lookup = self.lookup
        let hosts = await self.hosts
        let shortest = self.interval * self.echoes
        let length = max(time ?? .zero, shortest)
        let interval = length == shortest ? self.interval : max(self.interval, Self.quietInterval)
        async let seen = self.diagnostics.dependencies.flows(
            beside: self.path.evidence.interface, every: min(self.interval * 8, .seconds(1)), for: length)
        async let connects = self.connects
        let (before, start) = (InterfaceCounters(of: evidence.interface), self.now)
        let burst = await self.burst(to: hosts, every: interval, for: length)
        if let before, let after = InterfaceCounters(of: evidence.interface) {
            evidence.ownTraffic = after.most(since: before) * 8 / (self.now - start).inSeconds
        }
        evidence.lateness = burst.lateness
        evidence.hosts = burst.hosts.filter { $0.segment != .reference }
        evidence.reference = burst.hosts.first { $0.segment == .reference }
        (evidence.lookup, evidence.connects, evidence.isAsked) = (await lookup, await connects, time != nil)
        let own: HostEvidence
        (evidence.flows, own) = await seen
        evidence.own = own
        evidence.flows = await self.onThisWay(evidence.flows)
        return evidence
    }

    // Those to neighbours, into containers and through tunnels show nothing about the way out.
    private func onThisWay(_ flows: [Flow]) async -> [Flow] {
        let way = (await self.diagnostics.monitor.route(to: self.path.target)).verdict.path
        return await flows.concurrentMap { flow -> Flow? in
            if flow.address == self.path.target { return flow }
            let path = (await self.diagnostics.monitor.route(to: flow.address)).verdict.path
            return path?.gateway == way?.gateway && path?.interface == way?.interface ? flow : nil
        }.compactMap(\.self)
    }

    // MARK: Hosts on the path

    private var hosts: [Host] {
        get async {
            if let known = self.path.hosts { return known }
            async let beyond = self.firstBeyond
            async let reference = self.firstAnswering(self.path.references)
            let router = self.path.gateway.map { Host(.router, $0) }
            let provider = await beyond.map { Host(.provider, $0) }
            let other = await reference.map { Host(.reference, $0) }
            return [router, provider, Host(.server, self.path.target), other].compactMap(\.self)
        }
    }

    // The nearest router beyond the gateway that answers echoes.
    var firstBeyond: IPAddress? {
        get async {
            guard let gateway = self.path.gateway else { return nil }
            let routers = await Array(Self.hopLimits).concurrentMap { limit -> IPAddress? in
                guard case .refused(let error)? = await self.search(self.path.target, hopLimit: limit),
                    error.kind == .timeExceeded
                else { return nil }
                return error.offender
            }
            return await self.firstAnswering(
                routers.compactMap(\.self).filter { $0.withoutZone != gateway && $0 != self.path.target })
        }
    }

    private func firstAnswering(_ addresses: [IPAddress]) async -> IPAddress? {
        await addresses.concurrentMap { address -> IPAddress? in
            if case .answered? = await self.search(address) { address } else { nil }
        }.compactMap(\.self).first
    }

    // Asks twice: one packet may be lost.
    private func search(_ address: IPAddress, hopLimit: Int? = nil) async -> EchoClient.Result? {
        let results = await [1, 2].concurrentMap { _ in
            await self.diagnostics.dependencies.echo(address, hopLimit: hopLimit, within: Self.searchLimit)
        }
        return results.first { $0 != .silent }
    }

    // Several at once: one of them may have lost a packet.
    private var connects: [Duration] {
        get async {
            guard let request = self.path.connect else { return [] }
            return await [1, 2, 3].concurrentMap { _ -> Duration? in
                let result = await self.diagnostics.web.check(request)
                return result.phases.connect ?? (result.failure == .timedOut ? request.limit : nil)
            }.compactMap(\.self)
        }
    }

    // MARK: Echoes

    private struct Burst: Sendable {
        var hosts: [Host]
        var lateness = Duration.zero
    }

    private struct Answer: Sendable {
        let host: Int
        let echo: Int
        /// Nil for a lost one.
        let roundTrip: Duration?
    }

    private func burst(to hosts: [Host], every interval: Duration, for time: Duration) async -> Burst {
        await withTaskGroup(of: Answer?.self) { group in
            var (late, answers) = ([Duration](), [Answer]())
            let start = self.now
            while interval * late.count < time {
                let planned = start + interval * late.count
                await self.wait(until: planned)
                if Task.isCancelled { break }
                let echo = late.count
                for (number, host) in hosts.enumerated() {
                    let place = host.address.onLink(self.path.link)
                    group.addTask {
                        switch await self.diagnostics.dependencies.echo(place, within: Self.echoLimit) {
                        case .answered(_, let trip): Answer(host: number, echo: echo, roundTrip: trip)
                        case .silent: Answer(host: number, echo: echo, roundTrip: nil)
                        // This host did not send it, or a router refuses all of them.
                        case .refused, .tooLong, .failed: nil
                        }
                    }
                }
                late.append(self.now - planned)
            }
            for await case let answer? in group { answers.append(answer) }
            late.sort()
            return Burst(
                hosts: hosts.enumerated().map { number, host in
                    host.answering(answers.filter { $0.host == number }.sorted { $0.echo < $1.echo }.map(\.roundTrip))
                }, lateness: late.isEmpty ? .zero : late[(late.count - 1) * 95 / 100])
        }
    }

    private var now: MonotonicTime { self.diagnostics.time.monotonic() }

    private func wait(until time: MonotonicTime) async { await self.diagnostics.wait(time - self.now) }

    // MARK: Resolvers

    // The resolver knows the name since the diagnosis asked for it.
    private var lookup: QualityEvidence.Lookup? {
        get async {
            guard let (name, server) = self.path.question else { return nil }
            var (answers, trips) = ([Duration](), [Duration]())
            for _ in 0..<3 {
                let (start, type) = (self.now, DNSQuestion.RecordType(self.path.target.family))
                async let echo = self.diagnostics.dependencies.echo(server, within: Self.echoLimit)
                let outcome = await self.diagnostics.dependencies.query(name, type, server, within: Self.echoLimit)
                if outcome.isAnswer { answers.append(self.now - start) }
                if case .answered(_, let trip) = await echo { trips.append(trip) }
            }
            guard let answer = answers.min(), let trip = trips.min() else { return nil }
            return QualityEvidence.Lookup(resolver: server, answer: answer, roundTrip: trip)
        }
    }
}

extension QualityEvidence.Host {
    /// A copy with these round trips in the order of the echoes; nil stands for a lost one.
    fileprivate func answering(_ roundTrips: [Duration?]) -> Self {
        var host = self
        (host.sent, host.roundTrips) = (roundTrips.count, roundTrips.compactMap(\.self))
        host.gaps = zip([.zero] + roundTrips, roundTrips).count { $0 != nil && $1 == nil }
        return host
    }
}

/// The path to a target that was reached, as far as a diagnosis found it.
struct QualityPath: Sendable {
    /// The kernel sends a SYN again after a second, and a server that accepts late answers then.
    private static let connectLimit = Duration.milliseconds(1_500)

    /// Where the path leads, and where the hosts before it are looked for.
    let target: IPAddress
    let gateway: IPAddress?
    /// The index of the link that it begins with.
    let link: UInt32
    /// Other destinations behind the same gateway, to compare with.
    var references: [IPAddress] = []
    /// The hosts to measure; nil if they are not known yet.
    var hosts: [QualityEvidence.Host]?
    /// The name that was asked for, and the server that answered first.
    var question: (name: String, server: IPAddress)?
    /// A request that only connects; nil if the target accepted a connection at once.
    var connect: HTTPCheck.Request?
    var evidence: QualityEvidence

    /// This host's way out, as far as a destination that stands for all of them.
    init(wayOut way: NetworkPath, to destination: IPAddress) {
        self.target = destination
        self.gateway = way.gateway == destination ? nil : way.gateway
        self.link = way.index
        self.evidence = QualityEvidence(interface: way.interface)
    }

    /// Nil for this host itself, for the internet as a whole, and through proxies and tunnels, which hide what is behind them.
    init?(_ findings: LadderFindings) {
        let paths = findings.families.compactMap { findings.paths[$0] }.filter { path in
            if case .target = path.subject { path.verdict.isUsable } else { false }
        }
        let reached = paths.first { path in
            findings.target.lastStage == nil || path.web[path.subject.address]?.hasReached(.connect) ?? false
        }
        guard !findings.target.isInternet, findings.target.proxy == nil, let path = reached,
            let way = path.verdict.path, !path.verdict.notes.contains(.thisHost), !path.verdict.notes.contains(.tunnel)
        else { return nil }
        self.target = path.subject.address
        // A router that is the target itself is not behind a router.
        self.gateway = way.gateway == path.subject.address ? nil : way.gateway
        self.link = way.index
        self.references =
            path.leadsToGateway || path.sentinel == path.subject.address ? [] : [path.sentinel].compactMap(\.self)
        // Programs do not wait for a name of /etc/hosts.
        let name = findings.name.flatMap { $0.hostsFile.isEmpty ? $0 : nil }
        let server = name?.servers.filter(\.hasAnswered).min { ($0.delay ?? .zero) < ($1.delay ?? .zero) }
        self.question = server.map { ($0.asked, $0.server) }
        self.evidence = QualityEvidence(interface: way.interface)
        self.evidence.phases = path.web[path.subject.address]?.phases ?? PhaseDurations()
        self.evidence.phases.resolve = name?.delay
        self.evidence.target = self.target
        guard self.evidence.phases.connect ?? .zero >= Thresholds.repeatedPacket else { return }
        self.connect = HTTPCheck.Request(
            url: findings.target.url, address: self.target, lastStage: .connect, limit: Self.connectLimit)
    }
}
