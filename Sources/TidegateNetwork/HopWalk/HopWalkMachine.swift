internal import TidegateCore
internal import TidegateLoop

/// The state of a hop walk: the answer to each packet, and the time to stop waiting.
struct HopWalkMachine {
    enum Transport: CaseIterable { case tcp, udp }

    /// One packet: a hop limit and a transport.
    struct Probe: Hashable {
        var limit: Int
        var transport: Transport
    }

    private let destination: IPAddress
    private let port: UInt16
    private let maximumHops: Int
    private let start: MonotonicTime
    /// When the walk ends at the latest.
    private(set) var deadline: MonotonicTime
    private var outcomes: [Probe: HopWalkResult.Outcome] = [:]
    // The lowest hop limit of each transport at which packets end for another reason than their hop limit.
    private var ends: [Transport: Int] = [:]
    // The lowest hop limit that reached the destination.
    private var arrival: Int?

    /// The minimum time to wait for nearer routers after the destination has answered.
    private static let grace = Duration.milliseconds(50)

    init(to destination: IPAddress, port: UInt16, maximumHops: Int, start: MonotonicTime, within limit: Duration) {
        self.destination = destination
        self.port = port
        self.maximumHops = maximumHops
        self.start = start
        self.deadline = start + limit
    }

    /// The packets, nearest first: a router that limits its ICMP should spend it on low hop limits of both transports.
    var probes: [Probe] {
        (1...self.maximumHops).flatMap { limit in Transport.allCases.map { Probe(limit: limit, transport: $0) } }
    }

    /// Records the answer to a packet; answers without new information are ignored.
    mutating func record(_ outcome: HopWalkResult.Outcome, for probe: Probe, at now: MonotonicTime) {
        guard self.isWanted(probe) else { return }
        self.outcomes[probe] = outcome
        guard !outcome.isTimeExceeded else { return }
        let wasKnown = self.length != nil
        self.ends[probe.transport] = min(probe.limit, self.ends[probe.transport] ?? .max)
        if case .reached = outcome { self.arrival = min(probe.limit, self.arrival ?? .max) }
        // A nearer router needs no longer to answer than the end of the path did.
        guard !wasKnown, self.length != nil else { return }
        self.deadline = min(self.deadline, now + max(HopWalkMachine.grace, now - self.start))
    }

    /// True while an answer to a packet would bring new information.
    func isWanted(_ probe: Probe) -> Bool {
        let end = min(self.ends[probe.transport] ?? .max, (self.arrival ?? .max))
        return self.outcomes[probe] == nil && probe.limit <= end && !self.isDecided(probe)
    }

    /// True if no further answer is worth waiting for.
    var isOver: Bool {
        (1...(self.length ?? self.maximumHops)).allSatisfy { limit in
            Transport.allCases.allSatisfy { !self.isWanted(Probe(limit: limit, transport: $0)) }
        }
    }

    func result(at now: MonotonicTime) -> HopWalkResult {
        var hops = (1...(self.length ?? self.maximumHops)).map { self.outcome($0) ?? .silent }
        // A walk with too few sockets would seem to end at the last router that it asks.
        for case .failed(let code) in self.outcomes.values where DescriptorShortage.isReason(code) {
            hops = [.failed(code)]
        }
        var result = HopWalkResult(
            destination: self.destination, port: self.port, hops: hops, duration: now - self.start)
        // TCP is sent first at each hop limit, so a UDP-only answer means that TCP was lost earlier.
        result.isTCPLost =
            self.outcomes.contains { $0.key.transport == .udp && $0.value.isTimeExceeded }
            && !self.outcomes.keys.contains { $0.transport == .tcp }
        result.tcpEnd = self.tcpEnd
        return result
    }

    private var tcpEnd: IPAddress? {
        let last = self.outcomes.filter { $0.key.transport == .tcp }.max { $0.key.limit < $1.key.limit }
        guard let last, case .answered(_, let router, _) = last.value, last.value.isTimeExceeded else { return nil }
        let beyond = self.outcomes.filter { $0.key.transport == .udp && $0.key.limit > last.key.limit }.values
        // One router may leave out an answer.
        return beyond.contains(where: \.isTimeExceeded) && beyond.count > 1 ? router : nil
    }

    // The number of hops, if known: the distance of the destination, or where both transports end.
    private var length: Int? {
        if let arrival = self.arrival { return arrival }
        guard let tcp = self.ends[.tcp], let udp = self.ends[.udp] else { return nil }
        return max(tcp, udp)
    }

    // The other transport has shown the same; only TCP shows whether a port accepts connections, and what a filter of
    // TCP lets pass.
    private func isDecided(_ probe: Probe) -> Bool {
        switch self.outcome(probe.limit) {
        case .reached?: probe.transport == .udp || self.outcomes[probe] != nil
        case let outcome? where outcome.isTimeExceeded:
            probe.transport == .udp || self.outcomes[Probe(limit: probe.limit, transport: .tcp)] != nil
        case _?: false
        case nil: false
        }
    }

    // The more significant outcome of the two transports.
    private func outcome(_ limit: Int) -> HopWalkResult.Outcome? {
        Transport.allCases.compactMap { self.outcomes[Probe(limit: limit, transport: $0)] }
            .max { $0.weight < $1.weight }
    }
}

extension HopWalkResult.Outcome {
    fileprivate var isTimeExceeded: Bool {
        guard case .answered(let error, _, _) = self else { return false }
        return error.kind == .timeExceeded
    }

    fileprivate var weight: Int {
        switch self {
        case .silent: 0
        case .failed: 1
        case .answered: self.isTimeExceeded ? 3 : 2
        case .reached: 4
        }
    }
}
