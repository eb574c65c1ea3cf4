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
        guard let cause = table.cause else {
            if let finding = table.distance ?? table.unexplained { quality.findings.append(finding) }
            return quality
        }
        quality.findings += table.findings(about: cause)
        let order: [Segment] = [.thisHost, .link, .router, .provider, .path, .server]
        // A program that is slow hides nothing: the path was measured beside it.
        let place = cause.segment == .program ? order.count - 1 : order.firstIndex(of: cause.segment) ?? order.count - 1
        (quality.cause, quality.advice, quality.hidden) = (cause, cause.advice, Array(order[(place + 1)...]))
        return quality
    }

    // From near to far; what many echoes show counts before what a single connection shows.
    private var cause: SlowCause? {
        let flows = FlowTable(self.evidence)
        return flows.program ?? self.loss ?? self.rise ?? flows.rateLimit ?? flows.loss ?? flows.server
            ?? self.lateAccept ?? self.delay
    }

    // A far server is no fault.
    private var distance: String? {
        guard self.evidence.total >= Thresholds.slowTarget, let target, let trip = target.median,
            let shortest = target.roundTrips.first,
            target.gaps == 0, trip - shortest < Thresholds.queue, trip >= Thresholds.longLine
        else { return nil }
        let trips = [self.evidence.phases.connect, self.evidence.phases.tls, self.evidence.phases.processing]
            .count { $0 != nil }
        guard trips > 0, trip * trips * 2 >= self.evidence.total else { return nil }
        return "\(target.address) is \(trip.shortText) away, and a request takes \(trips) round trips"
    }

    private var unexplained: String? {
        self.evidence.total >= Thresholds.lateServer
            ? "it took \(self.evidence.total.shortText), and the reason is not known" : nil
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

    // A queue of this host's own stands before everything else. A queue on another interface does not.
    private var ownDrops: UInt64? {
        let own = self.evidence.own
        let drops = own.backlogs.isEmpty ? 0 : max(own.drops ?? 0, own.refusedDatagrams ?? 0)
        return Thresholds.areMany(drops: drops, of: own.packets ?? 0) ? drops : nil
    }

    private func ownQueue(_ delay: Duration, normal: Duration? = nil) -> SlowCause? {
        if let drops = self.ownDrops {
            return .ownQueueDrops(drops, interface: self.evidence.interface, normal: normal)
        }
        return Thresholds.isWaiting(self.evidence.own.backlogs)
            ? .ownQueue(delay, interface: self.evidence.interface, normal: normal) : nil
    }

    // A router that answers shows by itself that the queue is behind it.
    private func silentRouterQueue(_ delay: Duration, normal: Duration? = nil) -> SlowCause? {
        self.host(.router) == nil ? self.ownQueue(delay, normal: normal) : nil
    }

    private var radio: SlowCause? {
        let (own, interface) = (self.evidence.own, self.evidence.interface)
        let sent = own.sentFrames ?? 0
        func share(_ count: UInt64?) -> Double? {
            sent < Thresholds.fewestFrames ? nil : count.map { min(1, Double($0) / Double(sent)) }
        }
        let (repeated, failed) = (share(own.repeatedFrames), share(own.failedFrames) ?? 0)
        if let signal = own.signal, signal <= Thresholds.weakSignal {
            return .weakRadio(interface: interface, signal: signal, repeated: repeated)
        }
        return repeated ?? 0 >= Thresholds.repeatedFrames || failed >= Thresholds.failedFrames
            ? .disturbedRadio(interface: interface, repeated: repeated ?? 0, failed: failed) : nil
    }

    // What may explain trouble near this host.
    private func findings(about cause: SlowCause) -> [String] {
        let (own, interface) = (self.evidence.own, self.evidence.interface)
        guard [.thisHost, .link, .router].contains(cause.segment) else { return [] }
        return [
            own.isHalfDuplex ? "\(interface) runs at half duplex: its other end may be set to full duplex" : nil,
            own.speed.flatMap { $0 <= Thresholds.slowLink ? "\(interface) runs at \($0) Mbit/s" : nil },
            own.carrierLosses.flatMap { $0 > 0 ? "\(interface) lost its carrier during the measurement" : nil },
        ].compactMap(\.self)
    }

    // MARK: Loss

    private var loss: SlowCause? { self.lossNear ?? self.lossBehind ?? self.lossOnTheWay }

    private var lossNear: SlowCause? {
        guard let router = self.host(.router), let ratio = self.leastLossy(from: .router)?.lossRatio else { return nil }
        if let drops = self.ownDrops { return .ownQueueDrops(drops, interface: self.evidence.interface) }
        let own = self.evidence.own
        return self.radio
            ?? (Thresholds.areMany(errors: own.errors ?? 0, of: own.packets ?? 0)
                ? .lossOnLink(ratio, interface: self.evidence.interface) : .lossNear(ratio, router: router.address))
    }

    private var lossBehind: SlowCause? {
        guard let router = self.host(.router), let least = self.leastLossy(from: .provider), let ratio = least.lossRatio
        else { return nil }
        return Self.isCleaner(router, than: least)
            // A line that this host fills loses packets as well.
            ? .lossBehind(
                ratio, router: router.address,
                isEverywhere: self.reference != nil && self.target != nil && self.ownTraffic == nil)
            : .lossInOrBehind(ratio, router: router.address)
    }

    // A target may limit echoes; a connection that took a second longer has lost a packet itself.
    private var lossOnTheWay: SlowCause? {
        guard let target, Self.isLossy(target), let ratio = target.lossRatio else { return nil }
        let others = [self.reference, self.host(.provider)].compactMap(\.self)
        let connect = self.evidence.phases.connect ?? .zero
        if others.contains(where: { Self.isCleaner($0, than: target) }),
            connect - (target.median ?? .zero) >= Thresholds.repeatedPacket
        {
            return .lossOnTheWay(ratio, to: target.address)
        }
        return self.evidence.total >= Thresholds.slowTarget ? .echoLoss(ratio, to: target.address) : nil
    }

    // Of the hosts from this one on, the one that loses least; nil if one of them is clean, or the last that answers.
    private func leastLossy(from segment: Segment) -> Host? {
        let later = (self.hosts + [self.reference].compactMap(\.self)).filter {
            segment == .router || $0.segment != .router
        }
        guard later.count > 1, later.allSatisfy(Self.isLossy) else { return nil }
        return later.min { $0.gaps * $1.sent < $1.gaps * $0.sent }
    }

    // Two gaps in 46 echoes are no accident on a path that loses 0.3 % of them, with a probability of 99 %.
    private static func isLossy(_ host: Host) -> Bool {
        host.gaps >= 2 && (host.gapInterval?.lowerBound ?? 0) > Thresholds.loss
    }

    private static func isCleaner(_ host: Host, than other: Host) -> Bool {
        host.gapInterval.map { $0.upperBound < Double(other.gaps) / Double(other.sent) } ?? false
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
                return self.ownQueue(trip, normal: normal) ?? self.radio
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
        return shares.max { $0.time < $1.time }.flatMap { $0.time >= total / 2 ? $0.cause : nil }
    }

    private var slowResolver: SlowCause? {
        self.evidence.lookup.flatMap { lookup in
            if lookup.answer - lookup.roundTrip >= Thresholds.lateResolver {
                return .slowResolver(lookup.resolver, lookup.answer)
            }
            return lookup.roundTrip >= Thresholds.longLine ? .farResolver(lookup.resolver, lookup.roundTrip) : nil
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
            return self.ownQueue(delay) ?? self.radio ?? .delayNear(delay, router: router.address)
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
