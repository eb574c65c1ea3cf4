internal import Synchronization
internal import TidegateAttribution
internal import TidegateCore

/// Which gateways have answered during an outage beyond them.
///
/// Routers limit how often they answer for themselves (RFC 1812, 4.3.2.8; `icmp_ratelimit` of ip-sysctl): one that
/// answered a diagnosis and is silent to the next one has not died in between, as long as it is found on its link.
final class GatewayMemory: Sendable {
    /// A gateway, and the link that it is on: many links have one of the same address.
    struct Place: Hashable, Sendable {
        var address: IPAddress
        var link: UInt32

        /// The gateway of a path; nil if it has none.
        init?(_ path: NetworkPath?) {
            guard let path, let gateway = path.gateway else { return nil }
            (self.address, self.link) = (gateway, path.index)
        }
    }

    private let answers = Mutex<[Place: MonotonicTime]>([:])

    /// How long ago a gateway answered in the outage that lasts; nil if it did not.
    func answeredAgo(_ gateway: Place, at now: MonotonicTime) -> Duration? {
        self.answers.withLock { $0[gateway] }.map { now - $0 }.flatMap { $0 <= Thresholds.evidenceAge ? $0 : nil }
    }

    /// Records what a diagnosis that ends now found about a gateway and about what lies beyond it.
    ///
    /// One that asked nobody beyond it changes nothing.
    func record(_ gateway: Place, _ findings: GatewayFindings, _ witnesses: [Witness], at now: MonotonicTime) {
        let hasAnswered = findings.hasAnswered || witnesses.contains { $0.reach == .gateway }
        self.answers.withLock { answers in
            answers = answers.filter { now - $0.value <= Thresholds.evidenceAge }
            if witnesses.contains(where: \.isBeyondGateway) || findings.answer == .unresolved {
                answers[gateway] = nil
            } else if !witnesses.isEmpty, hasAnswered {
                answers[gateway] = now
            }
        }
    }
}
