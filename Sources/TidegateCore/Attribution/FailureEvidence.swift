/// What is known about a failed attempt.
package struct FailureEvidence: Sendable, Hashable {
    /// Why it failed.
    package var failure: TaskFailure
    /// What it was doing then; nil if that is not known.
    package var stage: Stage?
    /// The status, if one came.
    package var status: Int?
    /// How the socket failed, if it did.
    package var socketError: SocketError?
    /// The ICMP error that refused the connection, if one came.
    package var refusal: ICMPError?
    /// The address connected to; nil if there was none.
    package var peer: IPAddress?
    /// The local address; nil if the kernel had chosen none.
    package var local: IPAddress?
    /// Whether connect(2) itself failed.
    package var isImmediate: Bool
    /// How many first packets (SYN) went unanswered; 0 if that is not known.
    package var unanswered: Int
    /// Why the name gave no address, if it gave none.
    package var resolveFailure: ResolveFailure?
    /// What went wrong, in one clause; empty if it is not known.
    package var text: String
    /// True if the server refused this host's certificate, or was shown none.
    package var lacksClientCertificate = false
    /// What a proxy said to the connection that was wanted of it; nil if it said nothing.
    package var proxyAnswer: ProxyAnswer?
    /// The proxy that the attempt went through, without credentials; nil if it connected directly.
    package var proxy: String?
    /// The verdict when the attempt started.
    package var before: Verdict
    /// The verdict when it failed.
    package var after: Verdict
    /// What became of attempts to other hosts on the same path recently.
    package var peers: PeerHistory.Evidence
    /// How the gateway of the path stands, by the latest diagnosis of the path.
    package var gateway: SilenceEvidence.Gateway
    /// What that diagnosis found beyond the gateway; empty if none was made lately.
    package var witnesses: [Witness]

    /// Evidence from its parts.
    package init(
        failure: TaskFailure, stage: Stage? = nil, status: Int? = nil, socketError: SocketError? = nil,
        refusal: ICMPError? = nil, peer: IPAddress? = nil, local: IPAddress? = nil, isImmediate: Bool = false,
        unanswered: Int = 0, resolveFailure: ResolveFailure? = nil, text: String = "", before: Verdict,
        after: Verdict, peers: PeerHistory.Evidence = .init(),
        gateway: SilenceEvidence.Gateway = .unknown, witnesses: [Witness] = []
    ) {
        self.failure = failure
        self.stage = stage
        self.status = status
        self.socketError = socketError
        self.refusal = refusal
        self.peer = peer
        self.local = local
        self.isImmediate = isImmediate
        self.unanswered = unanswered
        self.resolveFailure = resolveFailure
        self.text = text
        self.before = before
        self.after = after
        self.peers = peers
        self.gateway = gateway
        self.witnesses = witnesses
    }
}

/// Why a proxy made no connection.
package enum ProxyAnswer: Sendable, Hashable {
    /// It does not let this host through, or not to that server.
    case denied
    /// It could not connect either.
    case failed
}
