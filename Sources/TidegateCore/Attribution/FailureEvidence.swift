/// What is known about a failed attempt.
public struct FailureEvidence: Sendable, Hashable {
    /// Why it failed.
    public var failure: TaskFailure
    /// What it was doing then; nil where that is not known.
    public var stage: Stage?
    /// The status, where one came.
    public var status: Int?
    /// How the socket failed, where it did.
    public var socketError: SocketError?
    /// Who refused the connection with an ICMP error, where somebody did.
    public var refusal: ICMPError?
    /// The address that was asked; nil where none was.
    public var peer: IPAddress?
    /// Our address; nil where the kernel had chosen none.
    public var local: IPAddress?
    /// Whether the kernel refused in the very call that asked for the connection.
    public var isImmediate: Bool
    /// How many first packets (SYN) went unanswered; 0 where that is not known.
    public var unanswered: Int
    /// Why the name gave no address, where it gave none.
    public var resolveFailure: ResolveFailure?
    /// What went wrong, in the words of whoever noticed; empty where nobody said.
    public var phrase: String
    /// The verdict when the attempt started.
    public var before: Verdict
    /// The verdict when it failed.
    public var after: Verdict
    /// What became of others on the same path lately.
    public var peers: PeerHistory.Evidence
    /// What is known of rungs by other means; empty where nobody climbed.
    public var rungs: [RungReport]

    /// The socket errors that tell something (errno(3)).
    public enum SocketError: String, Sendable, Hashable {
        case refused, networkUnreachable, hostUnreachable, timedOut, reset, addressNotAvailable, prohibited, blackholed,
            other
    }

    /// Evidence from its parts.
    public init(
        failure: TaskFailure, stage: Stage? = nil, status: Int? = nil, socketError: SocketError? = nil,
        refusal: ICMPError? = nil, peer: IPAddress? = nil, local: IPAddress? = nil, isImmediate: Bool = false,
        unanswered: Int = 0, resolveFailure: ResolveFailure? = nil, phrase: String = "", before: Verdict,
        after: Verdict, peers: PeerHistory.Evidence = .init(), rungs: [RungReport] = []
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
        self.phrase = phrase
        self.before = before
        self.after = after
        self.peers = peers
        self.rungs = rungs
    }
}
