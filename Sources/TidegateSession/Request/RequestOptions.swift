internal import FoundationEssentials
public import TidegateCore

/// The options of a request: limits, policies and the handling of the response.
///
/// The journal uses the names of these properties as keys. None may be renamed, and new ones must be optional, because
/// rows of earlier versions lack them.
public struct RequestOptions: Sendable, Hashable, Codable {
    /// The name shown in lists and results.
    public var name: String?
    /// The time limit for connecting, including TLS; 10 s by default.
    public var connectTimeout = Duration.seconds(10)
    /// The longest time without a byte in either direction; 60 s by default.
    public var idleTimeout = Duration.seconds(60)
    /// The time limit of one attempt; nil is no limit.
    public var attemptTimeout: Duration?
    /// The time limit of the task, including waits but not suspensions; nil is no limit.
    public var deadline: Duration?
    /// What attempts wait for; nil uses the session's gate.
    public var gate: GatePolicy?
    /// How the task is retried; nil uses the session's policy.
    public var retry: RetryPolicy?
    /// The priority: tasks with a higher one go first if not all can run; 0 by default.
    public var priority = 0
    /// True offers HTTP/2 to https servers.
    public var usesHTTP2 = false
    /// True requests a compressed response and decompresses it; such a response cannot be resumed.
    public var acceptsCompression = false
    private var user: String?
    private var password: String?
    /// The maximum average rate of the response's body, in bytes per second; nil is no limit.
    public var bytesPerSecondLimit: Int?
    /// The maximum number of redirects, 10 by default; with 0 the redirect itself is the response (RFC 9110 15.4).
    public var maxRedirects = 10
    /// True if the request may be sent again even though an earlier one may have been executed.
    public var isMarkedIdempotent = false
    // In microseconds since 1970.
    private var expiry: Int64?
    private var digest: String?
    /// The earlier download that this one continues; see ``TaskRequest/resume(from:)``.
    package internal(set) var resuming: ResumeData?
    /// The certificates that this task trusts; nil uses the session's policy.
    public var tls: ServerTrustPolicy?
    /// The proxies of this task; nil uses the session's, ``ProxyPolicy/direct`` uses none.
    public var proxy: ProxyPolicy?
    private var makesDirectories: Bool?
    /// Which redirects to follow, and with which fields; nil uses the session's policy.
    public var redirects: RedirectPolicy?
    /// Whether a server with a public address may redirect to this host, its links and metadata services; nil uses the
    /// session's, and the policy `free` allows it.
    public var allowsPrivateRedirects: Bool?
    /// False sends no cookies of the session's jar, and keeps none; nil does what the session does.
    public var usesCookies: Bool?
    /// False requests the whole response whatever ``SessionConfiguration/validators`` has; true revalidates although an
    /// observer of data misses the body that was stored; nil does what the session does.
    public var usesValidators: Bool?
    /// How many bytes the response's body may have, decoded, including the held part of a resumed download; nil uses
    /// the session's.
    ///
    /// A longer body fails as `tooLarge` as soon as its announced length or the received bytes exceed the limit.
    public var maxBodyBytes: Int?
    /// The lowest rate of a transfer in bytes per second; nil is no limit.
    ///
    /// An attempt that moves fewer bytes for ``slowTime`` is replaced by another one on a new connection, as after a
    /// timeout. The wait for a response does not count.
    public var lowestBytesPerSecond: Int?
    /// How long an attempt may be slower than ``lowestBytesPerSecond``; nil is 10 s.
    public var slowTime: Duration?
    private var traceParent: String?
    private var traceState: String?
    /// The directories that the task's files must be below, opened without following links; nil allows any file.
    package var confinedTo: [String]?

    /// True gives a downloaded file the time of Last-Modified; not kept in the journal.
    package var takesRemoteTime = false
    /// True fails a download as `fileError` if its destination exists; not kept in the journal.
    package var keepsExistingFile = false

    private enum CodingKeys: String, CodingKey {
        case name, connectTimeout, idleTimeout, attemptTimeout, deadline, gate, retry, priority, usesHTTP2
        case acceptsCompression, user, password, bytesPerSecondLimit, maxRedirects, isMarkedIdempotent, resuming
        case proxy, redirects, allowsPrivateRedirects, usesCookies, usesValidators, maxBodyBytes, traceParent
        case traceState, confinedTo, lowestBytesPerSecond, slowTime
        case expiry = "expires"
        case digest = "sha256"
        case tls = "trust"
        case makesDirectories = "createsDirectories"
    }

    /// Creates the default options.
    public init() {}

    /// The credentials for HTTP Basic authentication (RFC 7617), or for Digest (RFC 7616) if the server answers 401 and
    /// offers it; nil uses those of the URL.
    public var credentials: Credentials? {
        get { self.user.map { Credentials(user: $0, password: self.password ?? "") } }
        set { (self.user, self.password) = (newValue?.user, newValue?.password) }
    }

    /// When the task expires, even if it waits or is suspended; nil for never.
    ///
    /// The task then fails as `deadlineExceeded`.
    public var expires: WallTime? {
        get { self.expiry.map { WallTime(microseconds: $0) } }
        set { self.expiry = newValue?.microseconds }
    }

    /// The required SHA-256 of the body; a mismatch fails the task as `digestMismatch`.
    ///
    /// A file is checked, including all bytes from an earlier process, before it is moved to its destination. A stream
    /// or a descriptor receives its bytes before they can be checked.
    public var sha256: ContentDigest? {
        get { self.digest.flatMap { ContentDigest($0) } }
        set { self.digest = newValue?.description }
    }

    /// True creates the missing directories of a ``Destination/file(_:permissions:continues:)`` with 0777 less the
    /// umask (mkdir(2)).
    public var createsDirectories: Bool {
        get { self.makesDirectories ?? false }
        set { self.makesDirectories = newValue ? true : nil }
    }

    /// The trace that the task continues: each attempt is part of it and sends `traceparent` and `tracestate` (W3C
    /// Trace Context); nil sends neither, unless the session starts traces.
    ///
    /// A redirect to another origin sends neither, unless its policy is `free`. A request with its own field
    /// `traceparent` is part of that trace and sends the field unchanged.
    public var trace: TraceContext? {
        get { self.traceParent.flatMap { TraceContext(traceParent: $0, state: self.traceState) } }
        set { (self.traceParent, self.traceState) = (newValue?.traceParent, newValue?.state) }
    }
}

extension Credentials {
    /// The value of Authorization for HTTP Basic authentication, in UTF-8 (RFC 7617).
    package var basicAuthorization: String {
        "Basic \(Data("\(self.user):\(self.password)".utf8).base64EncodedString())"
    }
}
