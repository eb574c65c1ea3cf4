/// The responsible party of a failed attempt, with the evidence for it.
public struct Attribution: Sendable, Hashable {
    /// The responsible party.
    public var party: FaultParty
    /// The rung that failed; nil if none did (a full disk).
    public var rung: Rung?
    /// What was seen, one clause each.
    public var evidence: [String]
    /// What is wrong, which determines the advice; nil if only the party is known.
    package var cause: Cause?
    /// Who was silent, if silence is all the evidence, so that a later diagnosis may revise the party; nil if it is final.
    package var silence: SilenceEvidence.Silent?

    /// An attribution from its parts.
    package init(party: FaultParty, rung: Rung? = nil, evidence: [String] = []) {
        (self.party, self.rung, self.evidence) = (party, rung, evidence)
    }
}
