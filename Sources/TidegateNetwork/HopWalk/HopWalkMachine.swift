internal import TidegateCore

/// What a hop walk knows while its packets are under way: what each brought back, and when nothing more is worth waiting
/// for.
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
    // The lowest hop limit at which packets of a transport end somewhere else than by their hop limit.
    private var ends: [Transport: Int] = [:]
    // The lowest hop limit that reached the destination.
    private var arrival: Int?

    /// How long answers of nearer routers are waited for at least once the destination has answered.
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

    /// What a packet brought back; what it would say no more is ignored.
    mutating func record(_ outcome: HopWalkResult.Outcome, for probe: Probe, at now: MonotonicTime) {
        guard self.isWanted(probe) else { return }
        self.outcomes[probe] = outcome
        guard !outcome.isTimeExceeded else { return }
        let wasKnown = self.length != nil
        self.ends[probe.transport] = min(probe.limit, self.ends[probe.transport] ?? .max)
        if case .reached = outcome { self.arrival = min(probe.limit, self.arrival ?? .max) }
        // A nearer router's answer needs no longer than the answer from the end of the path did.
        guard !wasKnown, self.length != nil else { return }
        self.deadline = min(self.deadline, now + max(HopWalkMachine.grace, now - self.start))
    }

    /// True while an answer to a packet would say something that is not known yet.
    func isWanted(_ probe: Probe) -> Bool {
        let end = min(self.ends[probe.transport] ?? .max, (self.arrival ?? .max))
        return self.outcomes[probe] == nil && probe.limit <= end && !self.isDecided(probe)
    }

    /// True once nothing more is worth waiting for.
    var isOver: Bool {
        (1...(self.length ?? self.maximumHops)).allSatisfy { limit in
            Transport.allCases.allSatisfy { !self.isWanted(Probe(limit: limit, transport: $0)) }
        }
    }

    func result(at now: MonotonicTime) -> HopWalkResult {
        let hops = (1...(self.length ?? self.maximumHops)).map { self.outcome($0) ?? .silent }
        var result = HopWalkResult(
            destination: self.destination, port: self.port, hops: hops, duration: now - self.start)
        // Of each hop limit TCP leaves first, so that UDP alone is answered only where TCP was lost before.
        result.isTCPLost =
            self.outcomes.contains { $0.key.transport == .udp && $0.value.isTimeExceeded }
            && !self.outcomes.keys.contains { $0.transport == .tcp }
        return result
    }

    // The number of hops, if known: where the destination is, or where both transports end.
    private var length: Int? {
        if let arrival = self.arrival { return arrival }
        guard let tcp = self.ends[.tcp], let udp = self.ends[.udp] else { return nil }
        return max(tcp, udp)
    }

    // The other transport has said the same; whether a port accepts connections only TCP says.
    private func isDecided(_ probe: Probe) -> Bool {
        switch self.outcome(probe.limit) {
        case .reached?: probe.transport == .udp || self.outcomes[probe] != nil
        case let outcome?: outcome.isTimeExceeded
        case nil: false
        }
    }

    // What weighs more of the two transports' outcomes.
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
