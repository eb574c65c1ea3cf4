internal import TidegateCore

/// The part of the decision table that reads the connections of programs.
///
/// A short or idle connection shows nothing, and a program that sends little is not slow.
struct FlowTable {
    private let evidence: QualityEvidence
    // The connections to the target, those that moved most first.
    private let own: [Flow]

    init(_ evidence: QualityEvidence) {
        self.evidence = evidence
        self.own = evidence.flows.filter { $0.address == evidence.target && $0.time >= Thresholds.flowTime }
    }

    // MARK: One connection

    /// What slows a connection to the target.
    var limit: SlowCause? { self.program ?? self.rateLimit ?? self.server }

    /// What a program of this host does: it does not read, or takes little at a time.
    private var program: SlowCause? { self.own.lazy.compactMap(Self.ofProgram).first }

    private static func ofProgram(_ flow: Flow) -> SlowCause? {
        let waiting = flow.unread.count { $0 > 0 }
        if waiting * 5 >= flow.samples * 4, flow.unreadBytes >= Thresholds.unread,
            // A fast transfer leaves data for a moment, and its window stays open.
            let last = flow.ownWindows.last, let first = flow.ownWindows.max(), last < first || last < flow.unreadBytes
        {
            return .connection(.unreadData(Int(flow.unreadBytes), by: flow.program))
        }
        guard waiting * 5 <= flow.samples, let window = flow.ownWindows.first, flow.earlySegments == 0,
            flow.ownWindows.allSatisfy({ $0 == window }), let trip = flow.receiveRoundTrip, !Self.isQueued(flow, trip),
            flow.receivedSegments >= Thresholds.flowSegments, self.isFilled(flow.receiveRate, window, trip)
        else { return nil }
        return .connection(.smallBuffer(Int(window), by: flow.program, roundTrip: trip))
    }

    /// What the server does with a connection: it does not read, takes little at a time, or sends in pieces.
    private var server: SlowCause? { self.own.lazy.compactMap(self.ofServer).first }

    private func ofServer(_ flow: Flow) -> SlowCause? {
        if flow.busy >= Thresholds.flowTime / 2,
            flow.limitedByPeer.inSeconds >= flow.busy.inSeconds * Thresholds.heldBack
        {
            guard flow.peerWindow >= flow.segmentSize else { return .connection(.serverDoesNotRead(flow.address)) }
            guard let trip = flow.roundTrip, !Self.isQueued(flow, trip), flow.sentSegments >= Thresholds.flowSegments,
                Self.isFilled(flow.sendRate, flow.peerWindow, trip)
            else { return nil }
            return .connection(.smallWindow(Int(flow.peerWindow), of: flow.address, roundTrip: trip))
        }
        return self.pauses(of: flow)
    }

    // A queue that makes the round trip long fills a window as well.
    private static func isQueued(_ flow: Flow, _ trip: Duration) -> Bool {
        flow.shortestRoundTrip.map { trip * 2 > $0 * 3 } ?? false
    }

    // True if a window that is filled in each round trip explains the rate.
    private static func isFilled(_ bitsPerSecond: Double, _ window: UInt32, _ trip: Duration) -> Bool {
        let most = Double(window) * 8 / max(trip.inSeconds, 0.000_001)
        return (0.6...1.4).contains(bitsPerSecond / max(most, 1))
    }

    // The shortest round trip: a receiver's estimate contains the pauses.
    private func pauses(of flow: Flow) -> SlowCause? {
        guard flow.time >= Thresholds.rhythmTime, flow.earlySegments == 0,
            // On a busy host a program reads late now and then.
            flow.unread.count(where: { $0 > 0 }) * 5 <= flow.samples,
            // What is asked for again and again is sent in pieces for that reason.
            flow.sentSegments == 0,
            // A connection that sends nothing knows only its handshake's, which may have waited.
            let trip = [flow.shortestRoundTrip, self.evidence.hosts.last?.median].compactMap(\.self).min()
        else { return nil }
        let limit = max(Thresholds.pause, trip * 4)
        let ends = zip(flow.pauses, flow.pauses.dropFirst()).count { $0 >= limit && $1 < $0 }
        // Single events are no pieces, and an idle connection sends none.
        guard ends >= Thresholds.pauses, flow.receivedSegments >= UInt64(ends) * Thresholds.pieceSegments,
            flow.pauses.count(where: { $0 >= limit }) * 4 >= flow.samples, let longest = flow.pauses.max(),
            longest < Thresholds.flowTime
        else { return nil }
        return .connection(.serverPauses(longest, flow.address))
    }

    /// A rate limit that drops what exceeds it: echoes pass, and no queue forms.
    private var rateLimit: SlowCause? {
        guard let flow = self.own.first, flow.time >= Thresholds.rhythmTime,
            flow.sentSegments >= Thresholds.lossSegments.sent, let trip = flow.roundTrip,
            let shortest = flow.shortestRoundTrip, trip * 10 <= shortest * 11,
            let host = self.evidence.hosts.first(where: { $0.segment == .server }), let interval = host.lossInterval
        else { return nil }
        let loss = Double(flow.lostSegments) / Double(flow.sentSegments)
        // What TCP reaches on a path that loses at random (Mathis and others, 1997).
        let random = 1.22 * Double(flow.segmentSize) * 8 / (max(trip.inSeconds, 0.000_001) * loss.squareRoot())
        guard loss >= Thresholds.limitLoss, interval.upperBound < loss, flow.sendRate >= random * 1.5 else {
            return nil
        }
        return .connection(.rateLimit(flow.sendRate, to: flow.address))
    }

    // MARK: All connections

    /// What connections lose: beyond the router if those to two networks lose, on the way if another loses nothing.
    var loss: SlowCause? {
        let counted = self.evidence.flows.filter(\.countsLosses)
        let losses = Dictionary(grouping: counted, by: \.address).map { Loss($1, to: $0) }
        return self.loss(losses, \.sent) ?? self.loss(losses, \.received)
    }

    // A direction shows nothing about the other one.
    private func loss(_ losses: [Loss], _ direction: KeyPath<Loss, Loss.Share>) -> SlowCause? {
        let isAnyClean = losses.contains { $0[keyPath: direction] == .clean }
        let lossy = losses.compactMap { loss -> (address: IPAddress, ratio: Double)? in
            if case .lossy(let ratio) = loss[keyPath: direction] { (loss.address, ratio) } else { nil }
        }.sorted { $0.ratio < $1.ratio }
        if isAnyClean {
            return lossy.first { $0.address == self.evidence.target }.map { .lossOnTheWay($0.ratio, to: $0.address) }
        }
        guard let router = self.evidence.hosts.first(where: { $0.segment == .router }), let least = lossy.first,
            Set(lossy.map { Self.network(of: $0.address) }).count > 1, router.gaps == 0
        else { return nil }
        // The router's echoes show whether the loss may begin before it.
        return router.lossInterval.map { $0.upperBound < least.ratio } ?? false
            ? .lossBehind(
                least.ratio, router: router.address,
                // A rate limit or a short queue that this host fills loses as much.
                isEverywhere: self.evidence.ownTraffic ?? 0 < Thresholds.ownTraffic)
            : .lossInOrBehind(least.ratio, router: router.address)
    }

    private static func network(of address: IPAddress) -> [UInt8] {
        Array(address.octets.prefix(address.family == .ipv4 ? 3 : 6))
    }
}

/// What all connections to one address lost.
private struct Loss {
    enum Share: Equatable {
        case unknown, clean
        case lossy(Double)
    }

    let address: IPAddress
    var sent = Share.unknown
    var received = Share.unknown

    init(_ flows: [Flow], to address: IPAddress) {
        self.address = address
        let least = Thresholds.lossSegments
        let sent = flows.reduce(0) { $0 + $1.sentSegments }
        let lost = flows.reduce(0) { $0 + $1.lostSegments }
        let share = Double(lost) / Double(max(1, sent))
        // A queue that TCP fills loses a little as well: that is normal.
        let limit = flows.contains(where: \.waits) ? Thresholds.flowLoss.queue : Thresholds.loss
        if sent >= least.sent, share < Thresholds.flowLoss.clean {
            self.sent = .clean
        } else if sent >= least.sent, lost >= least.lost, share >= limit,
            Self.count(flows, \.lossySeconds) >= least.seconds
        {
            self.sent = .lossy(share)
        }
        let received = flows.reduce(0) { $0 + $1.receivedSegments }
        let missing = flows.reduce(0) { $0 + $1.missing } / Double(max(1, received))
        guard received >= Thresholds.receivedSegments else { return }
        if missing < Thresholds.flowLoss.clean {
            self.received = .clean
        } else if missing >= Thresholds.loss, Self.count(flows, \.earlySeconds) >= least.seconds {
            self.received = .lossy(missing)
        }
    }

    // One burst is one event, however many connections it meets.
    private static func count(_ flows: [Flow], _ seconds: KeyPath<Flow, Set<UInt64>>) -> Int {
        flows.reduce(into: Set()) { $0.formUnion($1[keyPath: seconds]) }.count
    }
}

extension Flow {
    fileprivate var waits: Bool {
        guard let trip = self.roundTrip, let shortest = self.shortestRoundTrip else { return false }
        return trip * 2 >= shortest * 3
    }

    // Each lost segment makes those of a round trip early.
    fileprivate var missing: Double {
        guard self.earlySegments > 0, self.time > .zero else { return 0 }
        let trip = self.receiveRoundTrip ?? self.shortestRoundTrip ?? .zero
        let perTrip = Double(self.receivedSegments) / self.time.inSeconds * trip.inSeconds
        return Double(self.earlySegments) / max(1, perTrip)
    }
}
