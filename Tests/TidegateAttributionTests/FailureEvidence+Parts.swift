import TidegateCore

extension FailureEvidence {
    /// Evidence from its parts.
    init(
        failure: TaskFailure, stage: Stage? = nil, status: Int? = nil, socketError: SocketError? = nil,
        refusal: ICMPError? = nil, peer: IPAddress? = nil, local: IPAddress? = nil, isImmediate: Bool = false,
        unanswered: Int = 0, resolveFailure: ResolveFailure? = nil, before: Verdict, after: Verdict,
        peers: PeerEvidence = .init(), gateway: SilenceEvidence.Gateway = .unknown, witnesses: [Witness] = []
    ) {
        self.init(failure: failure, stage: stage, peer: peer, before: before, after: after)
        (self.status, self.socketError, self.refusal, self.local) = (status, socketError, refusal, local)
        (self.isImmediate, self.unanswered, self.resolveFailure) = (isImmediate, unanswered, resolveFailure)
        (self.peers, self.gateway, self.witnesses) = (peers, gateway, witnesses)
    }
}
