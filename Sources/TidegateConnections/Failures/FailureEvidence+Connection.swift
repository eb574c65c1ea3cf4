package import TidegateCore

extension FailureEvidence {
    /// What the end of a connection says, and what the kernel would do with a packet to its remote now; nil if it is no
    /// failure.
    package init?(_ outcome: ConnectionOutcome, by verdict: Verdict) {
        guard outcome.isFailure else { return nil }
        self.init(failure: .connectFailed, before: verdict, after: verdict)
        self.isOfThisPath = true
        switch outcome {
        case .refused: self.socketError = .refused
        case .reset: self.socketError = .reset
        case .unreachable: self.socketError = .hostUnreachable
        // The next hop was not found on its link, which this host says itself.
        case .notSent where verdict.path != nil: self.refusal = ICMPError(offender: nil, type: 3, code: 1)
        case .noAnswer, .lost: self.failure = .timedOut
        case .notSent, .established, .abandoned, .closed, .aborted: break
        }
    }
}
