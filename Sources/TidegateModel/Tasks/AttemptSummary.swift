/// One try on the wire, once it is over.
public struct AttemptSummary: Sendable, Hashable {
    /// The attempt, counted from 1 within its task.
    public var number: Int
    /// The request method.
    public var method: String
    /// The host asked, a name or an address; nil where the attempt came to none.
    public var host: String?
    /// The response status, 100 to 599; nil where none came.
    public var status: Int?
    /// From the attempt's start to its last byte or its failure.
    public var duration: Duration
    /// The phases that were run.
    public var phases: PhaseDurations
    /// Response body bytes on the wire, before decoding.
    public var receivedWire: Int64
    /// Request body bytes sent.
    public var sent: Int64
    /// How many connections were opened for it; 0 when one was reused.
    public var connectionsOpened: Int
    /// The address connected to; nil where none was.
    public var remote: IPAddress?
    /// The local address used; nil where none was.
    public var local: IPAddress?

    /// A summary from its parts.
    public init(
        number: Int, method: String, host: String? = nil, status: Int? = nil, duration: Duration,
        phases: PhaseDurations = .init(), receivedWire: Int64 = 0, sent: Int64 = 0, connectionsOpened: Int = 0,
        remote: IPAddress? = nil, local: IPAddress? = nil
    ) {
        self.number = number
        self.method = method
        self.host = host
        self.status = status
        self.duration = duration
        self.phases = phases
        self.receivedWire = receivedWire
        self.sent = sent
        self.connectionsOpened = connectionsOpened
        self.remote = remote
        self.local = local
    }
}
