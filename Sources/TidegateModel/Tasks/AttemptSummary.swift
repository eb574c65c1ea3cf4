/// One try on the wire, once it is over.
public struct AttemptSummary: Sendable, Hashable {
    /// The attempt, counted from 1 within its task.
    public var number: Int {
        get { self.box.parts.number }
        set { self.parts.number = newValue }
    }
    /// The request method.
    public var method: String {
        get { self.box.parts.method }
        set { self.parts.method = newValue }
    }
    /// The host asked, a name or an address; nil where the attempt came to none.
    public var host: String? {
        get { self.box.parts.host }
        set { self.parts.host = newValue }
    }
    /// The response status, 100 to 599; nil where none came.
    public var status: Int? {
        get { self.box.parts.status }
        set { self.parts.status = newValue }
    }
    /// From the attempt's start to its last byte or its failure.
    public var duration: Duration {
        get { self.box.parts.duration }
        set { self.parts.duration = newValue }
    }
    /// The phases that were run.
    public var phases: PhaseDurations {
        get { self.box.parts.phases }
        set { self.parts.phases = newValue }
    }
    /// Response body bytes on the wire, before decoding.
    public var receivedWire: Int64 {
        get { self.box.parts.receivedWire }
        set { self.parts.receivedWire = newValue }
    }
    /// Request body bytes sent.
    public var sent: Int64 {
        get { self.box.parts.sent }
        set { self.parts.sent = newValue }
    }
    /// How many connections were opened for it; 0 when one was reused.
    public var connectionsOpened: Int {
        get { self.box.parts.connectionsOpened }
        set { self.parts.connectionsOpened = newValue }
    }
    /// The address connected to; nil where none was.
    public var remote: IPAddress? {
        get { self.box.parts.remote }
        set { self.parts.remote = newValue }
    }
    /// The local address used; nil where none was.
    public var local: IPAddress? {
        get { self.box.parts.local }
        set { self.parts.local = newValue }
    }

    // Behind one reference: a summary is handed on often, and read in few places.
    private var box: Box

    /// A summary from its parts.
    public init(
        number: Int, method: String, host: String? = nil, status: Int? = nil, duration: Duration,
        phases: PhaseDurations = .init(), receivedWire: Int64 = 0, sent: Int64 = 0, connectionsOpened: Int = 0,
        remote: IPAddress? = nil, local: IPAddress? = nil
    ) {
        self.box = Box(
            Parts(
                number: number, method: method, host: host, status: status, duration: duration, phases: phases,
                receivedWire: receivedWire, sent: sent, connectionsOpened: connectionsOpened, remote: remote,
                local: local))
    }

    /// Compares what the summaries say.
    public static func == (left: AttemptSummary, right: AttemptSummary) -> Bool { left.box.parts == right.box.parts }

    /// Hashes what the summary says.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.box.parts) }

    private struct Parts: Sendable, Hashable {
        var number: Int
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
    }

    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    // A change is rare, and makes the value a box of its own.
    private var parts: Parts {
        get { self.box.parts }
        set { self.box = Box(newValue) }
    }
}
