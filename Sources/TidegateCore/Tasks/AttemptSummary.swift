/// One attempt, once it is over.
public struct AttemptSummary: Sendable, Hashable {
    /// The attempt, counted from 1 within its task.
    public var number: Int { self.parts.value.number }
    /// The try that the attempt is part of, counted from 1: what follows a redirect belongs to the try before it.
    package var tryNumber: Int { self.parts.value.tryNumber }
    /// The request method.
    public var method: String { self.parts.value.method }
    /// The host, a name or an address; nil if the attempt came to none.
    public var host: String? { self.parts.value.host }
    /// The response status, 100 to 599; nil if none came.
    public var status: Int? { self.parts.value.status }
    /// From the attempt's start to its last byte or its failure.
    public var duration: Duration { self.parts.value.duration }
    /// The phases that were run.
    package var phases: PhaseDurations { self.parts.value.phases }
    /// Response body bytes on the wire, before decoding.
    package var receivedWire: Int64 { self.parts.value.receivedWire }
    /// Request body bytes sent.
    package var sent: Int64 { self.parts.value.sent }
    /// How many connections were opened for it; 0 when one was reused.
    package var connectionsOpened: Int { self.parts.value.connectionsOpened }
    /// The address connected to; nil if none was.
    public var remote: IPAddress? { self.parts.value.remote }
    /// True if the request was handed to a connection, so that the server may have seen it.
    package var isSent: Bool { self.parts.value.isSent }
    /// The local address used; nil if none was.
    package var local: IPAddress? { self.parts.value.local }
    /// What the TLS handshake of its connection showed; nil without TLS, or if it came to no certificate.
    public var tls: TLSDetails? { self.parts.value.tls }

    /// The attempt in its trace, which the server's part names as its parent; nil without a trace.
    public var span: SpanID? { self.parts.value.span }

    // Behind one reference: a summary is copied often, and read in few places.
    private let parts: Indirect<Parts>

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
