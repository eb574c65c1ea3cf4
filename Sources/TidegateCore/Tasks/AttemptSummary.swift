/// One attempt, once it is over.
public struct AttemptSummary: Sendable, Hashable {
    /// The attempt, counted from 1 within its task.
    public var number: Int {
        get { self.parts.value.number }
        set { self.parts.value.number = newValue }
    }
    /// The try that the attempt is part of, counted from 1: what follows a redirect belongs to the try before it.
    package var tryNumber: Int {
        get { self.parts.value.tryNumber }
        set { self.parts.value.tryNumber = newValue }
    }
    /// The request method.
    public var method: String {
        get { self.parts.value.method }
        set { self.parts.value.method = newValue }
    }
    /// The host, a name or an address; nil if the attempt came to none.
    public var host: String? {
        get { self.parts.value.host }
        set { self.parts.value.host = newValue }
    }
    /// The response status, 100 to 599; nil if none came.
    public var status: Int? {
        get { self.parts.value.status }
        set { self.parts.value.status = newValue }
    }
    /// From the attempt's start to its last byte or its failure.
    public var duration: Duration {
        get { self.parts.value.duration }
        set { self.parts.value.duration = newValue }
    }
    /// The phases that were run.
    package var phases: PhaseDurations {
        get { self.parts.value.phases }
        set { self.parts.value.phases = newValue }
    }
    /// Response body bytes on the wire, before decoding.
    package var receivedWire: Int64 {
        get { self.parts.value.receivedWire }
        set { self.parts.value.receivedWire = newValue }
    }
    /// Request body bytes sent.
    package var sent: Int64 {
        get { self.parts.value.sent }
        set { self.parts.value.sent = newValue }
    }
    /// How many connections were opened for it; 0 when one was reused.
    package var connectionsOpened: Int {
        get { self.parts.value.connectionsOpened }
        set { self.parts.value.connectionsOpened = newValue }
    }
    /// The address connected to; nil if none was.
    public var remote: IPAddress? {
        get { self.parts.value.remote }
        set { self.parts.value.remote = newValue }
    }
    /// True if the request was handed to a connection, so that the server may have seen it.
    package var isSent: Bool {
        get { self.parts.value.isSent }
        set { self.parts.value.isSent = newValue }
    }
    /// The local address used; nil if none was.
    package var local: IPAddress? {
        get { self.parts.value.local }
        set { self.parts.value.local = newValue }
    }
    /// What the TLS handshake of its connection showed; nil without TLS, or if it came to no certificate.
    public var tls: TLSDetails? {
        get { self.parts.value.tls }
        set { self.parts.value.tls = newValue }
    }

    /// The attempt in its trace, which the server's part names as its parent; nil without a trace.
    public var span: SpanID? {
        get { self.parts.value.span }
        set { self.parts.value.span = newValue }
    }

    // Behind one reference: a summary is copied often, and read in few places.
    private var parts: Indirect<Parts>

    /// A summary from its parts.
    package init(
        number: Int, method: String, host: String? = nil, status: Int? = nil, duration: Duration,
        phases: PhaseDurations = .init(), receivedWire: Int64 = 0, sent: Int64 = 0, connectionsOpened: Int = 0,
        remote: IPAddress? = nil, local: IPAddress? = nil, tryNumber: Int? = nil, isSent: Bool = true,
        tls: TLSDetails? = nil, span: SpanID? = nil
    ) {
        self.parts = Indirect(
            Parts(
                number: number, tryNumber: tryNumber ?? number, method: method, host: host, status: status,
                duration: duration, phases: phases,
                receivedWire: receivedWire, sent: sent, connectionsOpened: connectionsOpened, remote: remote,
                local: local, isSent: isSent, tls: tls, span: span))
    }

    private struct Parts: Sendable, Hashable {
        var number: Int
        var tryNumber: Int
        var method: String
        var host: String?
        var status: Int?
        var duration: Duration
        var phases: PhaseDurations
        var receivedWire: Int64
        var sent: Int64
        var connectionsOpened: Int
        var remote: IPAddress?
        var local: IPAddress?
        var isSent: Bool
        var tls: TLSDetails?
        var span: SpanID?
    }
}
