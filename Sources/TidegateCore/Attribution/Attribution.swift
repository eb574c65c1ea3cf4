/// Whose failure an attempt's was, and how that is known.
public struct Attribution: Sendable, Hashable {
    /// Whose failure it was.
    public var party: FaultParty
    /// The rung that failed; nil if none did (a full disk).
    public var rung: Rung?
    /// What was seen, one clause each.
    public var evidence: [String]
    /// What is wrong, from which the advice follows; nil if only the party is known.
    package var cause: Cause?
    /// True if no router stands before the peer, so that a later diagnosis of the way out cannot change the attribution.
    package var isFinal = false

    /// An attribution from its parts.
    package init(party: FaultParty, rung: Rung? = nil, evidence: [String] = []) {
        self.party = party
        self.rung = rung
        self.evidence = evidence
    }

    /// Who was silent, if silence is all that there is to go by, so that a later diagnosis may know better.
    package var silence: SilenceEvidence.Silent? {
        guard !self.isFinal else { return nil }
        return switch self.cause {
        case .resolver(.silent(let servers))?: .resolvers(servers)
        case .unknown?, .router(.silent)?, .provider(.nothingBeyond)?, .onTheWay(.ends)?:
            self.rung == .dns ? .resolvers([]) : .target
        case .server(.handshakeSilent)?, .server(.responseSilent)?, .server(.bodyStopped)?: .target
        case .thisHost?, .router?, .provider?, .resolver?, .onTheWay?, .server?, nil: nil
        }
    }

    /// An attribution by its cause, which says whose it is.
    package init(cause: Cause, rung: Rung? = nil, evidence: [String]) {
        self.init(party: cause.party, rung: rung, evidence: evidence)
        self.cause = cause
    }
}
