/// The answers to packets with growing hop limits: which routers answer on the way to a destination, and how far the
/// packets get.
///
/// Routers may be hidden (tunnels, MPLS) or limit their ICMP, so a silent hop between answering ones means nothing, and
/// the last router that answers need not be the one that fails.
package struct HopWalkResult: Sendable, Hashable {
    /// The answer for one hop limit.
    package enum Outcome: Sendable, Hashable {
        /// Nothing.
        case silent
        /// This host could not send, or itself refused to (errno(3)).
        case failed(Int32)
        /// A router on the way answered: the hop limit was spent there, or it forwards no further.
        case answered(ICMPError, by: IPAddress, after: Duration)
        /// The destination itself answered.
        case reached(Arrival, after: Duration)
    }

    /// How a destination showed that packets arrive.
    package enum Arrival: Sendable, Hashable {
        /// It accepted the TCP connection, which was reset immediately.
        case connected
        /// It refused the TCP connection, or reported that nothing listens.
        case refused
        /// It sent an ICMP error, usually "port unreachable".
        case unreachable(ICMPError)
        /// It answered with a UDP packet.
        case datagram
    }

    /// A router's answer.
    package struct Answer: Sendable, Hashable {
        /// The lowest hop limit at which the router answered: its distance, if known.
        package var hop: Int
        /// The router's address; over IPv6 rarely the one that the route names.
        package var address: IPAddress
        /// What it said.
        package var error: ICMPError
        /// The round trip.
        package var duration: Duration
    }

    /// Where the packets were sent.
    package var destination: IPAddress
    /// The port of both TCP and UDP.
    package var port: UInt16
    /// The answers for the hop limits 1, 2, …, up to the one that reached the destination, or the last one tried.
    package var hops: [Outcome]
    /// How long the walk took.
    package var duration: Duration
    /// True if routers answered UDP packets, and not even the first one answered a TCP packet.
    package var isTCPLost = false
    /// The last router that answered TCP packets, while a router beyond it answered UDP packets only; nil otherwise.
    package var tcpEnd: IPAddress?

    /// A result from its parts.
    package init(destination: IPAddress, port: UInt16, hops: [Outcome], duration: Duration = .zero) {
        (self.destination, self.port, self.hops, self.duration) = (destination, port, hops, duration)
    }

    // MARK: What it says

    /// The routers that answered, each once, nearest first.
    package var answers: [Answer] {
        var known: Set<IPAddress> = []
        return self.hops.enumerated().compactMap { index, outcome in
            guard case .answered(let error, let address, let duration) = outcome, known.insert(address).inserted else {
                return nil
            }
            return Answer(hop: index + 1, address: address, error: error, duration: duration)
        }
    }

    /// The last router that answers; the walk proves no more than that, because the network beyond it, or the way back,
    /// may be broken.
    package var lastAnswer: Answer? { self.answers.last }

    /// True if the destination answered.
    package var isDestinationReached: Bool { self.arrival != nil }

    /// How the destination showed that packets arrive, at which hop limit and after how long; nil if it did not.
    package var arrival: (hop: Int, how: Arrival, duration: Duration)? {
        for (index, outcome) in self.hops.enumerated() {
            if case .reached(let how, let duration) = outcome { return (index + 1, how, duration) }
        }
        return nil
    }

    /// Why this host could not send; nil if it could.
    package var failure: Int32? {
        guard self.answers.isEmpty, !self.isDestinationReached else { return nil }
        for case .failed(let code) in self.hops { return code }
        return nil
    }

    /// The routers between which packets go in circles, nearest first; empty if they do not.
    ///
    /// One router with the hop limits n and n + 1 is no loop: some forward a packet whose hop limit is spent.
    package var loop: [IPAddress] {
        guard !self.isDestinationReached else { return [] }
        var limits: [IPAddress: (first: Int, last: Int)] = [:]
        for (index, outcome) in self.hops.enumerated() {
            guard case .answered(let error, let address, _) = outcome, error.kind == .timeExceeded else { continue }
            limits[address, default: (index, index)].last = index
        }
        return limits.filter { $0.value.last - $0.value.first > 1 }.sorted { $0.value.first < $1.value.first }
            .map(\.key)
    }

    /// How far the walk came on the way to `subject`: past `gateway` or not.
    ///
    /// An answer from a destination does not prove that another host is there.
    package func reach(past gateway: IPAddress?, asking subject: IPAddress) -> Witness.Reach {
        if self.isDestinationReached {
            if self.destination.withoutZone == gateway?.withoutZone { return .gateway }
            let isSubject = self.destination.withoutZone == subject.withoutZone
            return isSubject ? .destination : .beyond(self.destination)
        }
        guard let last = self.lastAnswer else { return .nothing }
        let isGateway = last.hop == 1 || last.address.withoutZone == gateway?.withoutZone
        return isGateway ? .gateway : .router(last.address)
    }

    /// The walk as a witness.
    package func witness(past gateway: IPAddress?, asking subject: IPAddress) -> Witness {
        var witness = Witness(.hopWalk, self.reach(past: gateway, asking: subject), refusal: self.refusal)
        witness.isEdge = !self.isDestinationReached && self.lastAnswer?.hop == 2
        return witness
    }

    /// A router's error other than a spent hop limit; nil if none sent one.
    ///
    /// A router answers the packet whose hop limit is spent at it before it refuses one with a higher limit.
    package var refusal: ICMPError? {
        self.hops.lazy.compactMap { if case .answered(let error, _, _) = $0 { error } else { nil } }
            .last { $0.kind != .timeExceeded }
    }
}
