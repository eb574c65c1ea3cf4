internal import TidegateCore

/// The part of the decision table that reads the connections of programs.
///
/// A short or idle connection shows nothing, and a program that sends little is not slow.
struct FlowTable {
    /// What all connections to one address lost.
    private struct Loss {
        let address: IPAddress
        var segments: UInt64 = 0
        /// Nil while it is not known: too few segments, or too few seconds.
        var ratio: Double?
        var isClean = false
    }

    private let flows: [Flow]
    private let evidence: QualityEvidence
    // The connections to the target, those that moved most first.
    private let own: [Flow]

    init(_ evidence: QualityEvidence) {
        self.evidence = evidence
        self.flows = evidence.flows
        self.own = evidence.flows.filter { $0.address == evidence.target && $0.time >= Thresholds.flowTime }
    }

    // MARK: One connection

    /// What a program of this host does: it does not read, or takes little at a time.
    var program: SlowCause? { self.own.lazy.compactMap(Self.program).first }

    private static func program(_ flow: Flow) -> SlowCause? {
        let waiting = flow.unread.count { $0 > 0 }
        if waiting * 5 >= flow.samples * 4, flow.unreadBytes >= Thresholds.unread,
            // A fast transfer leaves data for a moment, and its window stays open.
            let last = flow.ownWindows.last, let first = flow.ownWindows.max(), last < first || last < flow.unreadBytes
        {
            return .unreadData(Int(flow.unreadBytes), by: flow.program)
        }
        guard waiting * 5 <= flow.samples, let window = flow.ownWindows.first, flow.earlySegments == 0,
            flow.ownWindows.allSatisfy({ $0 == window }), let trip = flow.receiveRoundTrip,
            flow.receivedSegments >= Thresholds.flowSegments, self.isFilled(flow.receiveRate, window, trip)
        else { return nil }
        return .smallBuffer(Int(window), by: flow.program, roundTrip: trip)
    }

    /// What the server does with a connection: it does not read, takes little at a time, or sends in pieces.
    var server: SlowCause? { self.own.lazy.compactMap(self.server).first }

    private func server(_ flow: Flow) -> SlowCause? {
        if flow.busy >= Thresholds.flowTime / 2,
            flow.limitedByPeer.inSeconds >= flow.busy.inSeconds * Thresholds.heldBack
        {
            guard flow.peerWindow >= flow.segmentSize else { return .serverDoesNotRead(flow.address) }
            guard let trip = flow.roundTrip, flow.sentSegments >= Thresholds.flowSegments,
                Self.isFilled(flow.sendRate, flow.peerWindow, trip)
            else { return nil }
            return .smallWindow(Int(flow.peerWindow), of: flow.address, roundTrip: trip)
        }
        return self.pauses(of: flow)
    }

    // True if a window that is filled in each round trip explains the rate.
    private static func isFilled(_ bitsPerSecond: Double, _ window: UInt32, _ trip: Duration) -> Bool {
        let most = Double(window) * 8 / max(trip.inSeconds, 0.000_001)
        return (0.6...1.4).contains(bitsPerSecond / max(most, 1))
    }

    // The shortest round trip: a receiver's estimate contains the pauses.
    private func pauses(of flow: Flow) -> SlowCause? {
        guard flow.time >= Thresholds.rhythmTime, flow.earlySegments == 0, flow.unread.allSatisfy({ $0 == 0 }),
            flow.receivedSegments > flow.sentSegments,
            let trip = flow.shortestRoundTrip ?? self.evidence.hosts.last?.median
        else { return nil }
        let limit = max(Thresholds.pause, trip * 4)
        let pauses = flow.pauses.filter { $0 >= limit }
        // A connection that is idle does not send in pieces.
        guard pauses.count * 4 >= flow.samples, pauses.count * 4 <= flow.samples * 3, let longest = pauses.max(),
            longest < Thresholds.flowTime
        else { return nil }
        return .serverPauses(longest, flow.address)
    }

    /// A rate limit that drops what exceeds it: echoes pass, and no queue forms.
    var rateLimit: SlowCause? {
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
        return .rateLimit(flow.sendRate, to: flow.address)
    }

    // MARK: All connections

    /// What connections lose: beyond the router if those to two networks lose, on the way if another loses nothing.
    var loss: SlowCause? {
        let losses = Dictionary(grouping: self.flows, by: \.address).map { Self.loss(of: $1, to: $0) }
        let lossy = losses.compactMap { loss in loss.ratio.map { (loss.address, $0) } }.sorted { $0.1 < $1.1 }
        if let target = lossy.first(where: { $0.0 == self.evidence.target }), losses.contains(where: \.isClean) {
            return .lossOnTheWay(target.1, to: target.0)
        }
        guard let router = self.evidence.hosts.first(where: { $0.segment == .router }), let least = lossy.first,
            Set(lossy.map { Self.network(of: $0.0) }).count > 1, !losses.contains(where: \.isClean), router.gaps == 0
        else { return nil }
        // The router's echoes show whether the loss may begin before it.
        return router.lossInterval.map { $0.upperBound < least.1 } ?? false
            ? .lossBehind(least.1, router: router.address, isEverywhere: true)
            : .lossInOrBehind(least.1, router: router.address)
    }

    private static func network(of address: IPAddress) -> [UInt8] {
        Array(address.octets.prefix(address.family == .ipv4 ? 3 : 6))
    }

    private static func loss(of flows: [Flow], to address: IPAddress) -> Loss {
        var loss = Loss(address: address)
        let sent = flows.reduce(0) { $0 + $1.sentSegments }
        let lost = flows.reduce(0) { $0 + $1.lostSegments }
        let received = flows.reduce(0) { $0 + $1.receivedSegments }
        let missing = flows.reduce(0) { $0 + self.missing($1) }
        loss.segments = sent + received
        let least = Thresholds.lossSegments
        if sent >= least.sent, lost >= least.lost, flows.reduce(0, { $0 + $1.lossySeconds }) >= least.seconds,
            let ratio = self.ratio(lost, of: sent, flows)
        {
            loss.ratio = ratio
        } else if received >= Thresholds.receivedSegments,
            flows.reduce(0, { $0 + $1.earlySeconds }) >= least.seconds,
            missing / Double(received) >= Thresholds.loss
        {
            loss.ratio = missing / Double(received)
        }
        loss.isClean = loss.segments >= least.sent && lost == 0 && missing < 1
        return loss
    }

    // A queue that TCP fills loses a little as well: that is normal.
    private static func ratio(_ lost: UInt64, of sent: UInt64, _ flows: [Flow]) -> Double? {
        let ratio = Double(lost) / Double(sent)
        let waits = flows.contains { flow in
            guard let trip = flow.roundTrip, let shortest = flow.shortestRoundTrip else { return false }
            return trip * 2 >= shortest * 3
        }
        return ratio >= (waits ? 2 : 1) * Thresholds.loss ? ratio : nil
    }

    // Each lost segment makes those of a round trip early.
    private static func missing(_ flow: Flow) -> Double {
        guard flow.earlySegments > 0, flow.time > .zero else { return 0 }
        let trip = flow.receiveRoundTrip ?? flow.shortestRoundTrip ?? .zero
        let perTrip = Double(flow.receivedSegments) / flow.time.inSeconds * trip.inSeconds
        return Double(flow.earlySegments) / max(1, perTrip)
    }
}
