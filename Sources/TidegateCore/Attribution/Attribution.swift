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
    /// Why a later diagnosis may revise the party; nil if it is final.
    package var doubt: Doubt?

    /// Why the party of a failure may be another one.
    package struct Doubt: Sendable, Hashable {
        /// Who was silent, if silence is all the evidence; nil for the error of a socket, which does not name its sender.
        package var silent: SilenceEvidence.Silent?
        /// The target, which may be asked again; nil if that is not known.
        package var target: Target?

        /// A doubt that a diagnosis of the way out, or of `target`, may end.
        package init(silent: SilenceEvidence.Silent?, target: Target? = nil) {
            (self.silent, self.target) = (silent, target)
        }
    }

    /// Who was silent, if silence is all the evidence.
    package var silence: SilenceEvidence.Silent? { self.doubt?.silent }

    /// An attribution from its parts.
    package init(party: FaultParty, rung: Rung? = nil, evidence: [String] = []) {
        (self.party, self.rung, self.evidence) = (party, rung, evidence)
    }
}
