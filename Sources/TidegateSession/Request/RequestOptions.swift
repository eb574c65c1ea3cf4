internal import FoundationEssentials
public import TidegateCore

/// The options of a request: limits, policies and the handling of the response.
///
/// Their names are the keys under which the journal keeps them, so none can be renamed, and new ones must be optional:
/// rows of earlier versions lack them.
public struct RequestOptions: Sendable, Hashable, Codable {
    /// The name shown in lists and results.
    public var name: String?
    /// How long connecting may take, including TLS; 10 s by default.
    public var connectTimeout = Duration.seconds(10)
    /// How long an attempt may go without a byte in either direction; 60 s by default.
    public var idleTimeout = Duration.seconds(60)
    /// How long one attempt may take in all; nil is no limit.
    public var attemptTimeout: Duration?
    /// How long the task may take in all, including waits, without suspensions; nil is no limit.
    public var deadline: Duration?
    /// What attempts wait for; nil uses the session's gate.
    public var gate: GatePolicy?
    /// How the task is retried; nil uses the session's policy.
    public var retry: RetryPolicy?
    /// Tasks with a higher priority go first when not all can run; 0 by default.
    public var priority = 0
    /// True offers HTTP/2 to https servers.
    public var usesHTTP2 = false
    /// True requests a compressed response and decompresses it; such a response cannot be resumed.
    public var acceptsCompression = false
    private var user: String?
    private var password: String?
    /// The highest average rate of the response's body, in bytes per second; nil is no limit.
    public var bytesPerSecondLimit: Int?
    /// How many redirects are followed, 10 by default; with 0 the redirect itself is the response (RFC 9110 15.4).
    public var maxRedirects = 10
    /// True if the request may be sent again although the first one may have been executed.
    public var isMarkedIdempotent = false
    // In microseconds since 1970.
    private var expiry: Int64?
    private var digest: String?
    /// The earlier download that this one continues; see ``TaskRequest/resume(from:)``.
    package internal(set) var resuming: ResumeData?
    /// The certificates that this task trusts; nil uses the session's policy.
    public var tls: ServerTrustPolicy?
    /// The proxies of this task; nil uses the session's, ``ProxyPolicy/direct`` none.
    public var proxy: ProxyPolicy?
    private var makesDirectories: Bool?
    /// Which redirects to follow, and with what; nil uses the session's policy.
    public var redirects: RedirectPolicy?
    /// Whether a server with a public address may redirect to this host, its links and metadata services; nil uses the
    /// session's, and the policy `free` allows it.
    public var allowsPrivateRedirects: Bool?
    /// How many bytes the response's body may have, decoded, including the held part of a resumed download; nil uses
    /// the session's.
    ///
    /// A longer one fails as `tooLarge`: as soon as its announced length or the received bytes pass the limit.
    public var maxBodyBytes: Int?
    private var traceParent: String?
    private var traceState: String?
    /// The directories that the files of the task must be below, opened without following links; nil is any file.
    package var confinedTo: [String]?

    private enum CodingKeys: String, CodingKey {
        case name, connectTimeout, idleTimeout, attemptTimeout, deadline, gate, retry, priority, usesHTTP2
        case acceptsCompression, user, password, bytesPerSecondLimit, maxRedirects, isMarkedIdempotent, resuming
        case proxy, redirects, allowsPrivateRedirects, maxBodyBytes, traceParent, traceState, confinedTo
        case expiry = "expires"
        case digest = "sha256"
        case tls = "trust"
        case makesDirectories = "createsDirectories"
    }

    /// The defaults.
    public init() {}

    /// For HTTP's Basic scheme (RFC 7617); nil uses those of the URL.
    public var credentials: Credentials? {
        get { self.user.map { Credentials(user: $0, password: self.password ?? "") } }
        set { (self.user, self.password) = (newValue?.user, newValue?.password) }
    }

    /// When the task expires, even if it waits or is suspended; nil is never.
    ///
    /// The task then fails as `deadlineExceeded`.
    public var expires: WallTime? {
        get { self.expiry.map { WallTime(microseconds: $0) } }
        set { self.expiry = newValue?.microseconds }
    }

    /// The required SHA-256 of the body; another one fails the task as `digestMismatch`.
    ///
    /// A file is checked before it is moved to its place, including all bytes from an earlier process; a stream or a
    /// descriptor receives its bytes before they can be checked.
    public var sha256: ContentDigest? {
        get { self.digest.flatMap { ContentDigest($0) } }
        set { self.digest = newValue?.description }
    }

    /// True creates the missing directories of a ``Destination/file(_:permissions:continues:)``, with 0777 less the
    /// umask (mkdir(2)).
    public var createsDirectories: Bool {
        get { self.makesDirectories ?? false }
        set { self.makesDirectories = newValue ? true : nil }
    }

    /// The trace that the task continues: each attempt is part of it, and sends `traceparent` and `tracestate` (W3C
    /// Trace Context); nil sends neither, unless the session starts traces.
    ///
    /// A redirect to another origin sends neither, unless its policy is `free`. A request with a field `traceparent` of
    /// its own is part of that trace, and sends the field unchanged.
    public var trace: TraceContext? {
        get { self.traceParent.flatMap { TraceContext(traceParent: $0, state: self.traceState) } }
        set { (self.traceParent, self.traceState) = (newValue?.traceParent, newValue?.state) }
    }
}

extension Credentials {
    /// The value of Authorization in HTTP's Basic scheme, in UTF-8 (RFC 7617).
    package var basicAuthorization: String {
        "Basic \(Data("\(self.user):\(self.password)".utf8).base64EncodedString())"
    }
}
