package import TidegateCore

/// The decision table for targets that work, and are slow or lossy.
///
/// It goes from near to far: behind a bad network a server cannot be judged. A router's loss and delay count only as far as
/// all hosts behind it have them, because routers answer echoes late, or not all of them.
package struct QualityTable {
    private typealias Host = QualityEvidence.Host

    private let evidence: QualityEvidence
    // Those that answer echoes; the others drop them.
    private let hosts: [Host]
    private let reference: Host?

    private init(_ evidence: QualityEvidence) {
        self.evidence = evidence
        self.hosts = evidence.hosts.filter { !$0.roundTrips.isEmpty }
        self.reference = evidence.reference.flatMap { $0.roundTrips.isEmpty ? nil : $0 }
    }

    /// Where the trouble begins, if there is trouble.
    package static func quality(of evidence: QualityEvidence) -> Quality {
        let table = QualityTable(evidence)
        var quality = Quality(evidence)
        if let reason = self.busy(evidence) {
            quality.findings = ["this host is too busy to measure: \(reason)"]
            return quality
        }
        if table.hosts.isEmpty { quality.findings.append("no host on the path answers echoes") }
        quality.limit = FlowTable(evidence).limit
        if let limit = quality.limit, table.cause == nil, !evidence.isAsked {
            quality.findings.append("\(Cause.slow(limit))")
        }
        // A connection that is slowed makes no other one slow: it is the answer only if nothing else is.
        guard let cause = table.cause ?? (evidence.isAsked ? quality.limit : nil) else {
            if let finding = table.distance ?? table.unplaced ?? table.unexplained { quality.findings.append(finding) }
            return quality
        }
        if cause != quality.limit { quality.findings += table.findings(about: cause) }
        let order: [Segment] = [.thisHost, .link, .router, .provider, .path, .server]
        // A program that is slow hides nothing: the path was measured beside it.
        let place = cause.segment == .program ? order.count - 1 : order.firstIndex(of: cause.segment) ?? order.count - 1
        (quality.cause, quality.advice, quality.hidden) = (cause, cause.advice, Array(order[(place + 1)...]))
        return quality
    }

    /// What slows single connections, by the remote's address.
    package static func causes(of flows: [Flow]) -> [IPAddress: SlowCause] {
        Dictionary(grouping: flows, by: \.address).reduce(into: [:]) { causes, group in
            var evidence = QualityEvidence(interface: "")
            (evidence.target, evidence.flows) = (group.key, group.value)
            let table = FlowTable(evidence)
            causes[group.key] = table.limit
        }
    }

    // From near to far; what many echoes show counts before what a single connection shows.
    private var cause: SlowCause? {
        self.loss ?? self.rise ?? FlowTable(self.evidence).loss ?? self.lateAccept ?? self.delay
    }

    // A far server is no fault.
    private var distance: String? {
        guard self.evidence.total >= Thresholds.slowTarget, let target, let trip = target.median,
            let shortest = target.roundTrips.first,
            target.gaps == 0, trip - shortest < Thresholds.queue, trip >= Thresholds.longLine,
            // What takes so long to the router is no distance.
            self.host(.router)?.median ?? .zero < trip / 2
        else { return nil }
        let trips = [self.evidence.phases.connect, self.evidence.phases.tls, self.evidence.phases.processing]
            .count { $0 != nil }
        guard trips > 0, trip * trips * 2 >= self.evidence.total else { return nil }
        return "\(target.address) is \(trip.shortText) away, and a request takes \(trips) round trips"
    }

    private var unplaced: String? {
        self.hosts.contains(where: Self.isLossy)
            ? "echoes are lost; a longer measurement (--for 30s) shows where, or that a host limits them" : nil
    }

    private var unexplained: String? {
        self.evidence.total >= Thresholds.lateServer
            ? "it took \(self.evidence.total.shortText), and the reason is not known" : nil
    }

    /// How many such measurements at most show a loss, or where it begins; 1 if this one is enough.
    package static func rounds(after evidence: QualityEvidence) -> Int {
        let table = QualityTable(evidence)
        return switch table.cause {
        case .lossInOrBehind: 4
        // A single host may limit its answers.
        case nil: (table.hosts + [table.reference].compactMap(\.self)).count { $0.gaps > 0 } > 1 ? 2 : 1
        default: 1
        }
    }

    /// Why a measurement is worthless; nil if it is not.
    package static func busy(_ evidence: QualityEvidence) -> String? {
        let own = evidence.own
        if let periods = own.quotaPeriods, let throttled = own.throttledPeriods, periods >= Thresholds.throttled.of,
            Double(throttled) >= Double(periods) * Thresholds.throttled.share
        {
            return "its CPU quota was used up in \(throttled) of \(periods) periods"
        }
        guard evidence.lateness > Thresholds.lateTimer else { return nil }
        let late = "its timers are \(evidence.lateness.shortText) late"
        guard let pressure = own.pressure else { return late }
        return late + ", and processes wait for a processor \(Int((pressure * 100).rounded())) % of the time"
    }

    private func host(_ segment: Segment) -> Host? { self.hosts.first { $0.segment == segment } }

    private var target: Host? { self.host(.server) }

    // MARK: This host

    // A queue of this host's own stands before everything else.
    private var ownDrops: UInt64? {
        let own = self.evidence.own
        // Datagrams are also refused if the buffer of their socket is full, or the queue of another interface.
        let refused = Thresholds.isWaiting(own.backlogs) ? own.refusedDatagrams ?? 0 : 0
        let drops = own.backlogs.isEmpty ? 0 : max(own.drops ?? 0, refused)
        return Thresholds.areMany(drops: drops, of: own.packets ?? 0) ? drops : nil
    }

    private func ownQueue(_ delay: Duration, normal: Duration? = nil) -> SlowCause? {
        if let drops = self.ownDrops {
            return .ownQueueDrops(drops, interface: self.evidence.interface, normal: normal)
        }
        return Thresholds.isWaiting(self.evidence.own.backlogs) && self.explains(delay - (normal ?? .zero))
            ? .ownQueue(delay, interface: self.evidence.interface, normal: normal) : nil
    }

    // True if what waits takes about so long to leave: a fast line has a few packets in its queue at any time.
    private func explains(_ delay: Duration) -> Bool {
        let backlogs = self.evidence.own.backlogs.sorted()
        guard let rate = self.evidence.ownTraffic, !backlogs.isEmpty else { return true }
        return Double(backlogs[(backlogs.count - 1) / 2]) * 8 / max(rate, 1) >= delay.inSeconds / 2
    }

    // A router that answers shows by itself that the queue is behind it.
    private func silentRouterQueue(_ delay: Duration, normal: Duration? = nil) -> SlowCause? {
        self.host(.router) == nil ? self.ownQueue(delay, normal: normal) : nil
    }

    private func radio(normal: Duration? = nil) -> SlowCause? {
        let (own, interface) = (self.evidence.own, self.evidence.interface)
        let sent = own.sentFrames ?? 0
        func share(_ count: UInt64?) -> Double? {
            sent < Thresholds.fewestFrames ? nil : count.map { min(1, Double($0) / Double(sent)) }
        }
        let failedFrames = own.failedFrames.flatMap { $0 >= Thresholds.fewestFailedFrames ? $0 : nil }
        let (repeated, failed) = (share(own.repeatedFrames), share(failedFrames) ?? 0)
        if let signal = own.signal, signal <= Thresholds.weakSignal {
            return .weakRadio(interface: interface, signal: signal, repeated: repeated, normal: normal)
        }
        return repeated ?? 0 >= Thresholds.repeatedFrames || failed >= Thresholds.failedFrames
            ? .disturbedRadio(interface: interface, repeated: repeated ?? 0, failed: failed, normal: normal) : nil
    }

    // What may explain trouble near this host.
    private func findings(about cause: SlowCause) -> [String] {
        let (own, interface) = (self.evidence.own, self.evidence.interface)
        if case .delayBehind(_, to: _, ownTraffic: _?, normal: _) = cause { return [self.busiest].compactMap(\.self) }
        guard [.thisHost, .link, .router].contains(cause.segment) else { return [] }
        return [
            own.isHalfDuplex ? "\(interface) runs at half duplex: its other end may be set to full duplex" : nil,
            own.speed.flatMap { $0 <= Thresholds.slowLink ? "\(interface) runs at \($0) Mbit/s" : nil },
            own.carrierLosses.flatMap { $0 > 0 ? "\(interface) lost its carrier during the measurement" : nil },
        ].compactMap(\.self)
    }

    // The program that may fill the line.
    private var busiest: String? {
        let rates = self.evidence.flows.map { ($0, max($0.sendRate, $0.receiveRate)) }
        guard let (flow, rate) = rates.max(by: { $0.1 < $1.1 }), rate >= Thresholds.ownTraffic / 2 else { return nil }
        return "\(flow.program) moves \((rate / 100_000).rounded() / 10) Mbit/s to or from \(flow.address)"
    }

    // MARK: Loss

    private var loss: SlowCause? { self.lossNear ?? self.lossBehind ?? self.lossOnTheWay }

    private var lossNear: SlowCause? {
        // One gap is one event, and may be that of a change of the access point.
        let later = self.behind(.router)
        guard let router = self.host(.router), router.gaps > 1, later.allSatisfy({ $0.gaps <= router.gaps * 3 }),
            let (_, ratio) = Self.lossyPool([router] + later)
        else { return nil }
        if let drops = self.ownDrops { return .ownQueueDrops(drops, interface: self.evidence.interface) }
        let own = self.evidence.own
        return self.radio()
            ?? (Thresholds.areMany(errors: own.errors ?? 0, of: own.packets ?? 0)
                ? .lossOnLink(ratio, interface: self.evidence.interface) : .lossNear(ratio, router: router.address))
    }

    private var lossBehind: SlowCause? {
        guard let router = self.host(.router), let (later, ratio) = Self.lossyPool(self.behind(.router))
        else { return nil }
        return Self.isCleaner(router, than: later, by: Thresholds.certainDeviations)
            // A line that this host fills loses packets as well.
            ? .lossBehind(
                ratio, router: router.address,
                isEverywhere: self.reference != nil && self.target != nil && self.ownTraffic == nil)
            : .lossInOrBehind(ratio, router: router.address)
    }

    // A target may limit echoes; a connection that took a second longer has lost a packet itself.
    private var lossOnTheWay: SlowCause? {
        guard let target, Self.isLossy(target), let ratio = target.lossRatio else { return nil }
        let others = [self.host(.provider), self.reference].compactMap(\.self)
        let connect = self.evidence.phases.connect ?? .zero
        // A host before the target that loses nearly as much may be where the loss begins.
        guard (others + [self.host(.router)].compactMap(\.self)).allSatisfy({ $0.gaps * 4 <= target.gaps }) else {
            return nil
        }
        if others.contains(where: { Self.isCleaner($0, than: target, by: Thresholds.likelyDeviations) }),
            connect - (target.median ?? .zero) >= Thresholds.repeatedPacket
        {
            return .lossOnTheWay(ratio, to: target.address)
        }
        return self.evidence.total >= Thresholds.slowTarget ? .echoLoss(ratio, to: target.address) : nil
    }

    // Several hosts as one, and the loss that half of them have at least, if all of them lose; nil for a single one, and if only one
    // of them loses much: that is its own loss.
    private static func lossyPool(_ hosts: [Host]) -> (pool: Host, ratio: Double)? {
        let gaps = hosts.map(\.gaps).sorted()
        guard hosts.count > 1, var pool = hosts.first, let least = gaps.first, let most = gaps.last, least > 0,
            gaps[gaps.count - 2] * 4 >= most
        else { return nil }
        pool.sent = hosts.reduce(0) { $0 + $1.sent }
        pool.gaps = hosts.reduce(0) { $0 + $1.gaps }
        let ratios = hosts.compactMap(\.lossRatio).sorted()
        return self.isLossy(pool) && !ratios.isEmpty ? (pool, ratios[(ratios.count - 1) / 2]) : nil
    }

    // Two gaps in 46 echoes are no accident on a path that loses 0.3 % of them, with a probability of 99 %.
    private static func isLossy(_ host: Host) -> Bool {
        host.gaps >= 2 && (host.gapInterval?.lowerBound ?? 0) > Thresholds.loss
    }

    // By the test of two proportions.
    private static func isCleaner(_ host: Host, than other: Host, by deviations: Double) -> Bool {
        let (sent, others) = (Double(host.sent), Double(other.sent))
        guard sent > 0, others > 0 else { return false }
        let share = Double(host.gaps + other.gaps) / (sent + others)
        let deviation = (share * (1 - share) * (1 / sent + 1 / others)).squareRoot()
        return other.gaps > 0 && Double(other.gaps) / others - Double(host.gaps) / sent >= deviation * deviations
    }

    // MARK: Delay

    // The first host that takes longer than usual, with all hosts behind it.
    private var rise: SlowCause? {
        for host in self.hosts {
            let later = self.behind(host.segment).filter { $0.normal != nil }
            // A router may answer late and forward at once.
            guard let trip = host.median, let normal = host.normal, Self.isRisen(host), !later.isEmpty,
                later.allSatisfy(Self.isRisen)
            else { continue }
            switch host.segment {
            case .router:
                return self.ownQueue(trip, normal: normal) ?? self.radio(normal: normal)
                    ?? .delayNear(trip, router: host.address, normal: normal)
            case .provider:
                return self.silentRouterQueue(trip, normal: normal)
                    ?? .delayBehind(trip, to: host.address, ownTraffic: self.ownTraffic, normal: normal)
            default: return nil
            }
        }
        return nil
    }

    private static func isRisen(_ host: Host) -> Bool {
        host.median.map { Thresholds.isLate($0, normal: host.normal) } ?? false
    }

    // What may fill a slow line.
    private var ownTraffic: Double? {
        self.evidence.ownTraffic.flatMap { $0 >= Thresholds.ownTraffic ? $0 : nil }
    }

    private func behind(_ segment: Segment) -> [Host] {
        (self.hosts + [self.reference].compactMap(\.self)).filter { $0.segment != .router && $0.segment != segment }
    }

    /// The largest share of the time, if it is at least a half.
    private var delay: SlowCause? {
        let (phases, total) = (self.evidence.phases, self.evidence.total)
        let roundTrip = self.target?.median ?? phases.connect ?? .zero
        guard total >= Thresholds.slowTarget else { return nil }
        let server = (phases.processing ?? .zero) - roundTrip
        let trips = [phases.connect, phases.tls, phases.processing].count { $0 != nil }
        let shares: [(time: Duration, cause: SlowCause?)] = [
            (roundTrip * trips, self.slowPath(roundTrip)),
            (phases.resolve ?? .zero, self.slowResolver),
            (server, server >= Thresholds.lateServer ? .slowServer(server + roundTrip, roundTrip: roundTrip) : nil),
        ]
        // A share without a cause hides none that has one.
        return shares.filter { $0.cause != nil && $0.time >= total / 2 }.max { $0.time < $1.time }?.cause
    }

    private var slowResolver: SlowCause? {
        self.evidence.lookup.flatMap { lookup in
            if lookup.answer - lookup.roundTrip >= Thresholds.lateResolver {
                return .slowResolver(lookup.resolver, lookup.answer)
            }
            // A full line makes everything far.
            let nearest = self.hosts.filter { $0.segment != .router }.compactMap(\.median).min() ?? .zero
            return lookup.roundTrip >= max(Thresholds.longLine, nearest * 2)
                ? .farResolver(lookup.resolver, lookup.roundTrip) : nil
        }
    }

    // Every connect takes a second longer than a round trip, and echoes are not lost: the server's queue is full.
    private var lateAccept: SlowCause? {
        guard let target, let trip = target.median, target.gaps == 0, self.evidence.connects.count > 2,
            let shortest = self.evidence.connects.min(), shortest - trip >= Thresholds.repeatedPacket
        else { return nil }
        return .lateAccept(shortest, roundTrip: trip)
    }

    // The first host that has half of the delay, and none behind it less than that.
    private func slowPath(_ roundTrip: Duration) -> SlowCause? {
        if let router = self.host(.router), let delay = router.median,
            delay >= max(roundTrip / 2, Thresholds.lateRouter),
            !self.isFaster(than: delay, behind: .router)
        {
            return self.ownQueue(delay) ?? self.radio(normal: .zero) ?? .delayNear(delay, router: router.address)
        }
        if let host = self.host(.provider), let delay = host.median, delay >= max(roundTrip / 2, Thresholds.longLine) {
            guard !self.isFaster(than: delay, behind: .provider) else { return nil }
            return self.silentRouterQueue(delay)
                ?? .delayBehind(delay, to: host.address, ownTraffic: self.ownTraffic)
        }
        guard let target, let wait = Self.wait(target), wait >= Thresholds.queue, let reference,
            let other = Self.wait(reference), other < Thresholds.queue / 2
        else { return nil }
        return .delayOnTheWay(
            (target.percentile(95) ?? roundTrip) - (target.roundTrips.first ?? .zero), to: target.address)
    }

    // How long packets usually wait in queues.
    private static func wait(_ host: Host) -> Duration? {
        host.median.flatMap { median in host.roundTrips.first.map { median - $0 } }
    }

    // True if a host behind this delay answers sooner: the delay is the router's own.
    private func isFaster(than delay: Duration, behind segment: Segment) -> Bool {
        (self.behind(segment).map(\.median) + [self.evidence.phases.connect]).compactMap(\.self).contains {
            $0 < delay * 9 / 10
        }
    }
}
