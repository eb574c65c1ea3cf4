package import TidegateCore

/// Checks configured targets; provided by the creator of the monitor.
package protocol TargetChecker: Sendable {
    /// Checks once.
    ///
    /// A check takes at most twice its timeout plus one second, and five more seconds if it searches for a cause.
    func check(_ request: TargetCheck.Request) async -> TargetCheck.Outcome
}

extension TargetCheck {
    /// What to check, and the facts known when the check starts.
    package struct Request: Sendable, Hashable {
        /// The target.
        package var target: Target
        /// How to check it.
        package var check: TargetCheck
        /// The addresses to try, best first; empty if the target's name was not resolved.
        package var addresses: [IPAddress]
        /// Why the target's name was not resolved; nil if it was.
        package var unresolved: ResolveFailure?
        /// What the kernel would do with a packet to the target.
        package var verdict: Verdict
        /// True if the previous check reached the target; nil for the first check.
        package var isReached: Bool?
        /// The results of checks of other targets on the same path.
        package var peers = PeerEvidence()
        /// The last failure, if a diagnosis explained it; nil after a success.
        package var explained: Outcome.Failure?
    }

    /// The result of a check.
    package struct Outcome: Sendable, Hashable {
        /// Why the target was not reached.
        package struct Failure: Sendable, Hashable {
            package var reason: UnreachableReason
            package var party: FaultParty
            /// The finding, in one clause.
            package var text: String
            /// What to do, in one sentence; empty if the cause is unknown.
            package var advice = ""
            /// When a diagnosis found the party; nil if the check itself did.
            package var explainedAt: MonotonicTime?
            /// The result at the first address; nil if it was not contacted.
            package var answer: HTTPCheck.Result?

            /// True if this host lacked a descriptor or memory: the target was not contacted.
            var isOwn: Bool { self.answer?.socketError == .noResources }
        }

        /// Why the target was not reached; nil if it was.
        package var failure: Failure?
        /// The duration of each phase that was run.
        package var phases = PhaseDurations()
        /// When the server's certificate expires; nil if it presented none.
        package var certificateExpiry: WallTime?
    }
}
