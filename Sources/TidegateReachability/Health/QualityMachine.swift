internal import TidegateAttribution
package import TidegateCore

/// Decides from single echoes and checks when to measure thoroughly, and from the measurements what is slow.
///
/// One bad sample proves nothing, so it only asks for a measurement. Something is slow from the bad samples before a
/// measurement that finds a cause. It ends with a measurement that finds none and three minutes without a bad sample, or
/// with two such measurements: a host may limit its answers.
struct QualityMachine {
    typealias Subject = QualitySubject

    enum Input {
        /// The way out; nil while it does not work.
        case path(NetworkPath?)
        /// The hosts on the way out that answer echoes, and the router's link-layer address if it is known.
        case hosts([QualityStatus.Host], router: String?)
        /// One round trip to each host, in order; nil for a lost echo.
        case echoes([Duration?])
        /// The TCP segments of all programs since the last input of this kind.
        case segments(sent: UInt64, repeated: UInt64)
        /// Connections of tasks and probes to two remotes that took as long as the kernel takes to repeat a packet.
        case lateConnects
        /// What this host's side of the way out shows; its counters are those since they exist.
        case own(HostEvidence)
        /// A check of a target; nil if it failed.
        case checked(Target, PhaseDurations?)
        /// Nil if it could not be measured.
        case measured(Subject, QualityEvidence?)
    }

    typealias Moment = StandingDiagnosis.Moment

    private struct Record {
        /// Whether each of the last samples was bad.
        var recent: [Bool] = []
        /// When the first of the bad samples came that are recent.
        var firstBad: WallTime?
        var lastBad: MonotonicTime?
        var hasLoss = false
        /// False if there were bad samples since.
        var isMeasuredClean = false
        /// How many measurements in a row were worthless.
        var worthlessMeasurements = 0
        /// How many of them could not be made at all.
        var failedMeasurements = 0
        /// When it became slow.
        var begin: MonotonicTime?
        /// How many measurements in a row found nothing.
        var cleanMeasurements = 0

        mutating func add(isBad: Bool, isLoss: Bool = false, at now: Moment) {
            self.recent.append(isBad)
            if self.recent.count > Thresholds.badSamples.of { self.recent.removeFirst() }
            if isBad {
                self.firstBad = self.firstBad ?? now.wall
                (self.lastBad, self.isMeasuredClean) = (now.monotonic, false)
            } else if !self.recent.contains(true) {
                self.firstBad = nil
            }
            self.hasLoss = self.hasLoss || isLoss
        }

        /// Why it is over if nothing was bad lately; where nothing can be measured, good samples are enough.
        var end: Incident.EndReason? {
            if self.isMeasuredClean { return .recovered }
            let areGood = self.recent.count == Thresholds.badSamples.of && !self.recent.contains(true)
            return self.failedMeasurements > 1 && areGood ? .unmeasured : nil
        }

        var isSuspicious: Bool {
            self.hasLoss || self.recent.count { $0 } >= Thresholds.badSamples.count
        }
    }

    private(set) var status = QualityStatus()
    /// What is usual, on this network and on others.
    private(set) var normals: QualityNormals
    private var path: NetworkPath?
    /// The link-layer address of the router: many networks have the same addresses.
    private var router: String?
    // With a router that is known, this host's own address does not matter, which may change each day.
    private var network: String {
        guard let path = self.path else { return "" }
        guard let router = self.router, let gateway = path.gateway else { return path.description }
        return "\(path.interface) via \(gateway) \(router)"
    }
    private var records: [Subject: Record] = [:]
    /// When something may be measured again; nil before the first measurement.
    private var nextMeasurement: MonotonicTime?
    /// A measurement of the way out that needs more echoes.
    private var undecided: (evidence: QualityEvidence, rounds: Int, moment: MonotonicTime)?
    private var ownMoment: MonotonicTime?
    private var lastMeasured: Subject?
    /// A rise of the round trip that the next echo has to confirm: a short transfer fills a line as well.
    private var unconfirmed: (cause: SlowCause, quality: Quality, since: WallTime)?
    /// True once all hosts were measured on this path, so that it is known what is usual for those that get no echoes.
    private var isMeasured = false
    private var events: [QualityEvent] = []

    /// A machine that knows what was usual before.
    init(normals: QualityNormals = QualityNormals()) { self.normals = normals }

    /// Changes the state; the events are to be published in order.
    mutating func handle(_ input: Input, at now: Moment) -> [QualityEvent] {
        switch input {
        case .path(let path): self.move(to: path, at: now)
        case .hosts(let hosts, let router):
            self.router = router ?? self.router
            let known = self.status.hosts
            self.status.hosts = hosts.map { host in known.first { $0.address == host.address } ?? host }
        case .echoes(let echoes): self.add(echoes, at: now)
        case .segments(let sent, let repeated):
            if Thresholds.areLossy(sent: sent, repeated: repeated) { self.addLoss(at: now) }
        case .lateConnects: self.addLoss(at: now)
        case .own(let own): self.add(own, at: now)
        case .checked(let target, let phases): self.add(phases, of: target, at: now)
        case .measured(let subject, let evidence): self.decide(subject, evidence, at: now)
        }
        for index in self.status.hosts.indices {
            self.status.hosts[index].normal = self.normal(of: self.status.hosts[index].address)
        }
        if let moment = self.undecided?.moment, now.monotonic - moment > Thresholds.sampleAge { self.undecided = nil }
        if let moment = self.ownMoment, now.monotonic - moment > Thresholds.sampleAge {
            (self.status.own, self.ownMoment) = (HostEvidence(), nil)
        }
        for (subject, record) in self.records {
            if let lastBad = record.lastBad, now.monotonic - lastBad < Thresholds.cleanTime { continue }
            // Echoes that do not get as far as the trouble show nothing.
            let place = self.trouble(subject)?.cause.firstLate
            let isSeen = subject != .network || self.status.hosts.contains { $0.segment == place }
            if let reason = record.end, isSeen || reason == .recovered { self.end(subject, reason) }
        }
        defer { self.events = [] }
        return self.events
    }

    /// Whether the next echo has to confirm what was measured.
    var isUnconfirmed: Bool { self.unconfirmed != nil }

    /// What should be measured now; nil if nothing should.
    func due(at now: MonotonicTime) -> Subject? {
        guard self.path != nil else { return nil }
        if self.undecided != nil { return .network }
        guard self.nextMeasurement.map({ now >= $0 }) ?? true else { return nil }
        if !self.isMeasured, self.status.hosts.contains(where: { $0.normal != nil }) { return .network }
        let due = self.records.filter { $0.value.isSuspicious || self.trouble($0.key) != nil }.keys
        // A slow network must not keep a slow target from being measured.
        if due.contains(.network), self.lastMeasured != .network { return .network }
        return due.first { $0 != self.lastMeasured } ?? due.first
    }

    // MARK: Samples

    private mutating func move(to path: NetworkPath?, at now: Moment) {
        let before = self.path
        (self.path, self.status.interface) = (path, path?.interface)
        // This host's own address may change on the same network.
        if let before, let path, before.index == path.index, before.generation == path.generation,
            before.gateway == path.gateway
        {
            return
        }
        if before == nil, path == nil { return }
        (self.records, self.isMeasured) = ([:], false)
        (self.status.hosts, self.status.own, self.ownMoment) = ([], HostEvidence(), nil)
        (self.unconfirmed, self.undecided, self.router) = (nil, nil, nil)
        self.nextMeasurement = self.nextMeasurement.map { min($0, now.monotonic + Thresholds.sampleAge) }
        for subject in [Subject.network] + self.status.targets.keys.map(Subject.target) {
            self.end(subject, path == nil ? .failed : .moved)
        }
    }

    private mutating func add(_ echoes: [Duration?], at now: Moment) {
        guard echoes.count == self.status.hosts.count, !echoes.isEmpty else { return }
        let isLate = zip(echoes, self.status.hosts).map { echo, host in
            echo.map { Thresholds.isLate($0, normal: host.normal) } ?? true
        }
        if let (cause, quality, since) = self.unconfirmed.take(),
            zip(isLate, self.status.hosts).contains(where: { $0 && $1.segment == cause.firstLate })
        {
            self.begin(.network, cause, quality, since: since, at: now)
        }
        let isLoss = echoes.contains(nil)
        self.records[.network, default: Record()].add(isBad: isLate.contains(true), isLoss: isLoss, at: now)
        for (index, echo) in echoes.enumerated() {
            self.status.hosts[index].add(echo, at: now.wall)
            guard let echo, !isLate[index], self.status.network == nil else { continue }
            self.normals.learn(echo, of: self.key(self.status.hosts[index].address), at: now.wall)
        }
    }

    private mutating func add(_ own: HostEvidence, at now: Moment) {
        let grown = own.since(self.status.own)
        (self.status.own, self.ownMoment) = (own, now.monotonic)
        let packets = grown.packets ?? 0
        guard
            Thresholds.areMany(drops: grown.drops ?? 0, of: packets)
                || Thresholds.areMany(errors: grown.errors ?? 0, of: packets)
        else { return }
        self.addLoss(at: now)
    }

    private mutating func addLoss(at now: Moment) {
        self.records[.network, default: Record()].add(isBad: true, isLoss: true, at: now)
    }

    private mutating func add(_ phases: PhaseDurations?, of target: Target, at now: Moment) {
        guard let phases else {
            self.records[.target(target)] = nil
            return self.end(.target(target), .failed)
        }
        let time = [phases.connect, phases.tls, phases.processing].compactMap(\.self).reduce(.zero, +)
        if phases.connect ?? .zero >= Thresholds.repeatedPacket { self.addLoss(at: now) }
        let isBad = self.isSlow(time, target)
        self.records[.target(target), default: Record()].add(isBad: isBad, at: now)
        if !isBad, self.status.targets[target] == nil {
            self.normals.learn(time, of: self.key(target), at: now.wall)
        }
    }

    private func isSlow(_ time: Duration, _ target: Target) -> Bool {
        time >= Thresholds.slowTarget && Thresholds.isLate(time, normal: self.normals[self.key(target)])
    }

    private func key(_ address: IPAddress) -> QualityNormals.Key { .init(address, on: self.network) }

    private func key(_ target: Target) -> QualityNormals.Key { .init(target, on: self.network) }

    private func normal(of address: IPAddress) -> Duration? { self.normals[self.key(address)] }

    // MARK: Measurements

    private mutating func decide(_ subject: Subject, _ evidence: QualityEvidence?, at now: Moment) {
        let failures = self.records[subject]?.failedMeasurements ?? 0
        self.records[subject, default: Record()].failedMeasurements = evidence == nil ? failures + 1 : 0
        var evidence = evidence.flatMap { QualityTable.busy($0) == nil ? self.withNormals($0) : nil }
        if subject == .network {
            let earlier = self.undecided.take()
            let rounds = (earlier?.rounds ?? 0) + 1
            if let measured = evidence {
                let sum = earlier.map { measured.adding($0.evidence) } ?? measured
                evidence = sum
                if rounds < QualityTable.rounds(after: sum) {
                    self.undecided = (sum, rounds, now.monotonic)
                    return
                }
            }
            evidence = evidence ?? earlier?.evidence
        }
        self.lastMeasured = subject
        self.conclude(subject, evidence, at: now)
    }

    // Without evidence the measurement was worthless.
    private mutating func conclude(_ subject: Subject, _ evidence: QualityEvidence?, at now: Moment) {
        var record = self.records[subject] ?? Record()
        let isWorthless = evidence == nil
        record.worthlessMeasurements = isWorthless ? record.worthlessMeasurements + 1 : 0
        if isWorthless || record.isSuspicious || self.trouble(subject) != nil {
            // One that was worthless is repeated sooner, but only once.
            let isRepeated = record.worthlessMeasurements == 1
            self.nextMeasurement =
                now.monotonic + (isRepeated ? Thresholds.repeatedMeasurement : Thresholds.measurements)
        }
        let since = record.firstBad ?? now.wall
        // The repeated measurement is about the same samples.
        if record.worthlessMeasurements != 1 { (record.hasLoss, record.recent, record.firstBad) = (false, [], nil) }
        self.records[subject] = record
        guard let evidence else { return }
        if subject == .network { self.isMeasured = true }
        let quality = QualityTable.quality(of: evidence)
        guard let cause = quality.cause, self.isOwn(cause, of: subject, evidence) else {
            return self.foundNothing(subject, evidence, at: now)
        }
        if cause.normal != nil, let begin = record.begin, now.monotonic - begin >= Thresholds.newUsual {
            for host in evidence.hosts + [evidence.reference].compactMap(\.self) {
                if let median = host.median { self.normals.replace(self.key(host.address), by: median, at: now.wall) }
            }
            return self.end(subject, .usual)
        }
        if cause.normal != nil, self.status.network == nil {
            self.unconfirmed = (cause, quality, since)
            return
        }
        // What is wrong on the way out is the network's trouble, and makes a slow target slow.
        var places = [subject]
        if cause.isOfNetwork, subject != .network {
            places = self.trouble(subject) == nil ? [.network] : [.network, subject]
        }
        for place in places { self.begin(place, cause, quality, since: since, at: now) }
    }

    private mutating func begin(
        _ subject: Subject, _ cause: SlowCause, _ quality: Quality, since: WallTime, at now: Moment
    ) {
        var record = self.records[subject] ?? Record()
        (record.lastBad, record.isMeasuredClean, record.cleanMeasurements) = (now.monotonic, false, 0)
        record.begin = record.begin ?? now.monotonic
        self.records[subject] = record
        let before = self.trouble(subject)
        let isSame = before.map { $0.cause.segment == cause.segment } ?? false
        let trouble = QualityStatus.Trouble(
            since: isSame ? before?.since ?? since : before == nil ? since : now.wall, cause: cause,
            advice: quality.advice, evidence: quality.json)
        self.set(trouble, of: subject)
        let isKnown = before.map { Cause.slow($0.cause).code == Cause.slow(cause).code && $0.party == trouble.party }
        if isKnown != true { self.events.append(QualityEvent(.degraded, target: subject.target, trouble)) }
    }

    private mutating func foundNothing(_ subject: Subject, _ evidence: QualityEvidence, at now: Moment) {
        self.records[subject]?.isMeasuredClean = true
        self.records[subject]?.cleanMeasurements += 1
        if self.trouble(subject) != nil {
            if self.records[subject]?.cleanMeasurements ?? 0 > 1 { self.end(subject, .recovered) }
            return
        }
        // What is late, and no fault, is usual from now on.
        for host in evidence.hosts + [evidence.reference].compactMap(\.self) {
            guard let median = host.median, host.normal.map({ Thresholds.isLate(median, normal: $0) }) ?? true
            else { continue }
            self.normals.replace(self.key(host.address), by: median, at: now.wall)
        }
        if let target = subject.target, self.isSlow(evidence.total, target) {
            self.normals.replace(self.key(target), by: evidence.total, at: now.wall)
        }
    }

    // A measurement of the way out judges no server, and a target that takes its usual time is not slow.
    private func isOwn(_ cause: SlowCause, of subject: Subject, _ evidence: QualityEvidence) -> Bool {
        guard let target = subject.target, !cause.isOfNetwork else { return cause.isOfNetwork }
        return self.isSlow(evidence.total, target)
    }

    private func withNormals(_ evidence: QualityEvidence) -> QualityEvidence {
        func withNormal(_ host: QualityEvidence.Host) -> QualityEvidence.Host {
            var host = host
            host.normal = self.normal(of: host.address)
            return host
        }
        var evidence = evidence
        evidence.hosts = evidence.hosts.map(withNormal)
        evidence.reference = evidence.reference.map(withNormal)
        return evidence
    }

    private func trouble(_ subject: Subject) -> QualityStatus.Trouble? {
        subject.target.map { self.status.targets[$0] } ?? self.status.network
    }

    private mutating func set(_ trouble: QualityStatus.Trouble?, of subject: Subject) {
        if let target = subject.target { self.status.targets[target] = trouble } else { self.status.network = trouble }
    }

    private mutating func end(_ subject: Subject, _ reason: Incident.EndReason) {
        guard let trouble = self.trouble(subject) else { return }
        self.set(nil, of: subject)
        self.records[subject]?.begin = nil
        self.events.append(QualityEvent(.ended(reason), target: subject.target, trouble))
    }
}

extension SlowCause {
    /// True for what every target behind the router suffers from, and what a measurement without a request can find.
    fileprivate var isOfNetwork: Bool {
        switch self {
        case .ownQueueDrops, .weakRadio, .disturbedRadio, .lossOnLink, .lossNear, .lossInOrBehind, .lossBehind: true
        case .ownQueue, .delayNear, .delayBehind: self.normal != nil
        case .lossOnTheWay, .echoLoss, .delayOnTheWay, .slowResolver, .farResolver: false
        case .slowServer, .lateAccept, .connection: false
        }
    }

    /// What is usual instead of a delay on the way out; nil for other causes, and if it is not known.
    fileprivate var normal: Duration? {
        switch self {
        case .delayNear(_, router: _, let normal), .delayBehind(_, to: _, ownTraffic: _, let normal),
            .ownQueue(_, interface: _, let normal), .ownQueueDrops(_, interface: _, let normal),
            .weakRadio(interface: _, signal: _, repeated: _, let normal),
            .disturbedRadio(interface: _, repeated: _, failed: _, let normal):
            normal
        default: nil
        }
    }

    /// The first host that answers late.
    fileprivate var firstLate: Segment { [.thisHost, .link].contains(self.segment) ? .router : self.segment }
}

/// The subject of a measurement, which may be slow.
package enum QualitySubject: Sendable, Hashable {
    /// This host's way out.
    case network
    case target(Target)

    fileprivate var target: Target? {
        switch self {
        case .network: nil
        case .target(let target): target
        }
    }
}
