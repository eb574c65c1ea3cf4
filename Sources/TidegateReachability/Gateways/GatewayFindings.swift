internal import Synchronization
internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

/// The findings about a gateway.
struct GatewayFindings: Sendable {
    /// The kernel's neighbour entry, read after the UDP probe.
    var neighbour: KernelNeighbour?
    /// The result of the UDP probe; nil if none was sent.
    var udpProbe: UDPProbe.Result?
    /// How long it took to answer a packet whose hop limit ended there; nil if it did not answer or none was sent.
    var firstHop: Duration?
    /// How long ago it answered another diagnosis during the same outage; nil if it did not.
    var answeredAgo: Duration?
    /// Whether it was FAILED and has not been REACHABLE since.
    var isStuck = false
    /// Whether it has been REACHABLE before.
    var wasReachable = false
    /// How long ago this diagnosis sent its first packet to it; nil if it sent none.
    var probedAgo: Duration?
    /// Whether the link has neighbours; false for tunnels and point-to-point links.
    var resolvesNeighbours = true

    /// The result of packets to it.
    enum Answer: Sendable, Hashable {
        /// It answered; the duration is nil if it was not measured.
        case answered(Duration?)
        /// It has no link-layer address.
        case unresolved
    }

    /// The result of packets to it; nil if none was sent or nothing came back.
    var answer: Answer? {
        if let firstHop = self.firstHop { return .answered(firstHop) }
        switch self.udpProbe {
        case .answered?: return .answered(nil)
        // It was found on its link after the kernel had given up, and is REACHABLE now.
        case .unresolved? where self.neighbour?.state == .reachable: return nil
        case .unresolved?: return .unresolved
        case .refused?, .silent?, .failed?, nil:
            if self.isUnanswered { return .unresolved }
            return self.answeredAgo != nil && self.isResolved ? .answered(nil) : nil
        }
    }

    /// True if it answered this diagnosis itself.
    var hasAnswered: Bool { self.firstHop != nil || self.udpProbe == .answered }

    /// True if the kernel's requests for its link-layer address have been unanswered for long enough to include a
    /// repetition.
    var isUnanswered: Bool {
        guard let probedAgo = self.probedAgo, self.neighbour?.state == .incomplete else { return false }
        return probedAgo >= Thresholds.certainty
    }

    /// True if the kernel has its link-layer address.
    var isResolved: Bool {
        switch self.neighbour?.state {
        case .reachable?, .stale?, .delay?, .probe?, .permanent?, .noarp?: !self.isStuck
        case .none?, .incomplete?, .failed?, nil: false
        }
    }

    /// True if it did not answer, and was last confirmed before it was probed.
    ///
    /// A kernel that considers neighbours reachable for longer than usual (neigh/default/base_reachable_time_ms) may
    /// know better.
    var isSilentNow: Bool {
        guard self.answer == nil, let probedAgo = self.probedAgo, self.udpProbe == .silent else { return false }
        let isReachable = self.neighbour?.state == .reachable
        guard let age = self.neighbour?.confirmedAge else { return !isReachable }
        return age > probedAgo && !(isReachable && age > Thresholds.reachableTime)
    }

    /// The gateway as evidence about silence.
    func evidence(_ gateway: IPAddress, on link: String) -> SilenceEvidence.Gateway {
        guard self.resolvesNeighbours, self.neighbour?.state != .noarp else { return .none }
        let lost = SilenceEvidence.Gateway.unresolved(gateway, link: link, wasReachable: self.wasReachable)
        switch self.answer {
        case .answered: return .answers(gateway)
        case .unresolved: return lost
        // After FAILED the kernel asks again, so INCOMPLETE does not mean recovery.
        case nil: if self.isStuck { return lost }
        }
        let unconfirmed = SilenceEvidence.Gateway.unconfirmed(gateway, link: link, age: self.neighbour?.confirmedAge)
        switch self.neighbour?.state {
        case .failed?: return lost
        case .reachable?, .stale?, .delay?, .probe?, .permanent?:
            return self.isSilentNow ? unconfirmed : self.probedAgo == nil ? .unknown : .confirmed(gateway)
        // The kernel is still asking for it.
        case .incomplete?: return self.udpProbe == .silent ? unconfirmed : .unknown
        case .none?, .noarp?, nil: return .unknown
        }
    }
}

/// Remembers which gateways have answered during an outage beyond them, and when public addresses were sent packets.
///
/// Routers limit how often they answer for themselves (RFC 1812, 4.3.2.8; `icmp_ratelimit` of ip-sysctl). A gateway
/// that answered one diagnosis and not the next has not died in between, if it is still found on its link.
final class DiagnosisMemory: Sendable {
    private struct State {
        var answers: [NeighbourKey: MonotonicTime] = [:]
        /// The first and the last walk towards a public address about a silent target, or without one about the host.
        var walks: [Target?: (first: MonotonicTime, last: MonotonicTime)] = [:]
    }

    private let state = Mutex(State())

    /// How long ago a gateway answered in the current outage; nil if it did not.
    func answeredAgo(_ gateway: NeighbourKey, at now: MonotonicTime) -> Duration? {
        self.state.withLock { $0.answers[gateway] }.map { now - $0 }.flatMap { $0 <= Thresholds.evidenceAge ? $0 : nil }
    }

    /// Records the findings of a diagnosis that ends now, about a gateway and about what lies beyond it.
    ///
    /// A diagnosis that contacted no party beyond the gateway changes nothing.
    func record(_ gateway: NeighbourKey, _ findings: GatewayFindings, _ witnesses: [Witness], at now: MonotonicTime) {
        let hasAnswered = findings.hasAnswered || witnesses.contains { $0.reach == .gateway }
        self.state.withLock { state in
            state.answers = state.answers.filter { now - $0.value <= Thresholds.evidenceAge }
            if witnesses.contains(where: \.isBeyondGateway) || findings.answer == .unresolved {
                state.answers[gateway] = nil
            } else if !witnesses.isEmpty, hasAnswered {
                state.answers[gateway] = now
            }
        }
    }

    /// Reserves a walk towards a public address about a target, or without one about the host; false if it is too soon.
    func takesWalk(about target: Target?, at now: MonotonicTime) -> Bool {
        self.state.withLock { state in
            state.walks = state.walks.filter { now - $0.value.last < Thresholds.newSilence }
            let walks = state.walks[target] ?? (now, now)
            let pause = state.walks[target] == nil ? .zero : Thresholds.pauseOfWalks(after: walks.last - walks.first)
            if now - walks.last >= pause { state.walks[target] = (walks.first, now) }
            return now - walks.last >= pause
        }
    }
}

extension NetworkPath {
    /// The gateway and its link, because gateways on different links may have the same address; nil if there is no
    /// gateway.
    var gatewayKey: NeighbourKey? { self.gateway.map { NeighbourKey($0, on: self.index) } }
}
