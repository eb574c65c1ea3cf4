internal import Synchronization
internal import TidegateCore

/// Which gateways have answered during an outage beyond them.
///
/// Routers limit how often they answer for themselves (RFC 1812, 4.3.2.8; `icmp_ratelimit` of ip-sysctl): one that
/// answered a diagnosis and is silent to the next one has not died in between, as long as it is found on its link.
final class GatewayMemory: Sendable {
    /// How long an answer counts.
    static let lifetime = Duration.seconds(30)

    private let answers = Mutex<[IPAddress: MonotonicTime]>([:])

    /// How long ago a gateway answered in the outage that lasts; nil if it did not.
    func answeredAgo(_ gateway: IPAddress, at now: MonotonicTime) -> Duration? {
        self.answers.withLock { $0[gateway] }.map { now - $0 }.flatMap { $0 <= Self.lifetime ? $0 : nil }
    }

    /// Records what a diagnosis found about a gateway and about what lies beyond it.
    func record(_ gateway: IPAddress, _ findings: GatewayFindings, _ witnesses: [Witness], at now: MonotonicTime) {
        let hasAnswered = findings.hasAnswered || witnesses.contains { $0.reach == .gateway }
        let isOutage = !witnesses.isEmpty && !witnesses.contains(where: \.isBeyondGateway)
        self.answers.withLock { answers in
            answers = answers.filter { now - $0.value <= Self.lifetime }
            if isOutage, hasAnswered {
                answers[gateway] = now
            } else if !isOutage || findings.answer == .unresolved {
                answers[gateway] = nil
            }
        }
    }
}
