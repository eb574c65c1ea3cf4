package import TidegateCore

/// Checks configured targets; the front door passes one in.
package protocol TargetChecker: Sendable {
    /// Checks once. Ends within twice the check's time-out and a second, and five more if it searches for a cause.
    func check(_ request: TargetCheck.Request) async -> TargetCheck.Outcome
}

extension TargetCheck {
    /// What to check, and what is known when the check begins.
    package struct Request: Sendable, Hashable {
        /// The target.
        package var target: Target
        /// How it is checked.
        package var check: TargetCheck
        /// The addresses to try, the best one first; none if the target's name was not resolved.
        package var addresses: [IPAddress]
        /// Why the target's name was not resolved; nil if it was.
        package var unresolved: ResolveFailure?
        /// What the kernel would do with a packet to the target.
        package var verdict: Verdict
        /// True if the check before this one reached the target; nil if this is the first one.
        package var isReached: Bool?
        /// The results of checks of other targets on the same path.
        package var peers = PeerEvidence()
    }

    /// What a check found.
    package struct Outcome: Sendable, Hashable {
        /// Why the target was not reached.
        package struct Failure: Sendable, Hashable {
            package var reason: UnreachableReason
            package var party: FaultParty
            /// What was found, in one clause.
            package var text: String
            /// What to do, in one sentence; empty if the cause is not known.
            package var advice = ""
            /// What the first address answered; nil if it was not asked.
            package var answer: HTTPCheck.Result?
        }

        /// Why the target was not reached; nil if it was.
        package var failure: Failure?
        /// How long the phases took that were run.
        package var phases = PhaseDurations()
        /// When the server's certificate ends; nil if it showed none.
        package var certificateExpiry: WallTime?
    }
}
