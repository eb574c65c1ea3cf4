package import TidegateCore

/// Decides whose failure it was that a connection failed, by what is known when it did.
package enum FailureParty {
    /// What is known besides the outcome.
    package struct Context: Sendable, Hashable {
        /// What the kernel would do with a packet to the remote now.
        package var verdict: Verdict
        /// Whether the host's path changed less than a settle time ago.
        package var isSettling = false
        /// What the other remotes behind the same next hop say.
        package var group: RemoteGroup.Finding = .fine
        /// Whether one of them answered a moment ago.
        package var isAnyOtherAnswering = false
        /// How many remotes behind the same gateway reset connections within this second.
        package var resetRemotes = 0

        package init(verdict: Verdict) { self.verdict = verdict }
    }

    /// Whose failure it was; nil for an outcome that is none.
    package static func party(of outcome: ConnectionOutcome, _ context: Context) -> FaultParty? {
        guard outcome.isFailure else { return nil }
        let level = context.verdict.level
        if context.isSettling || level != .unknown && level < .routed { return .mine }
        switch outcome {
        case .refused: return .theirs
        case .reset: return context.resetRemotes >= RecentResets.many ? .path : .theirs
        case .unreachable: return .path
        // The next hop was not found on its link: the gateway, or the remote itself.
        case .notSent: return context.verdict.path.map { $0.gateway == nil ? .theirs : .gateway } ?? .unknown
        case .noAnswer, .lost:
            if case .silent = context.group { return .upstream }
            return context.isAnyOtherAnswering ? .theirs : .unknown
        case .established, .abandoned, .closed, .aborted: return nil
        }
    }
}
