public import TidegateModel

/// One request with everything that a task needs to know about it.
public struct TaskRequest: Sendable {
    /// The method, a token such as `GET`.
    public let method: String
    /// The URL as it was given.
    public let url: String
    /// The header fields of the user's own.
    public internal(set) var headers: [HeaderField]
    /// The request's body.
    public let body: RequestBody

    /// A name to be known by in lists and results.
    public var name: String?
    /// Where the response's body goes.
    public var destination: Destination = .memory(limit: 16 << 20)
    /// How long a connection may take to come about.
    public var connectTimeout: Duration = .seconds(10)
    /// How long an attempt may go without a byte either way.
    public var idleTimeout: Duration = .seconds(60)
    /// How long one attempt may take in all; nil is without end.
    public var attemptTimeout: Duration?
    /// How long the task may take in all, waiting included and suspensions not; nil is without end.
    public var deadline: Duration?
    /// What attempts wait for; nil is as the session says.
    public var gate: GatePolicy?
    /// How the task is tried again; nil is as the session says.
    public var retry: RetryPolicy?
    /// Who goes first where not all can go; higher goes first.
    public var priority = 0
    /// True offers HTTP/2 to https servers.
    public var usesHTTP2 = false
    /// True asks for a compressed answer and unpacks it; such an answer cannot be continued.
    public var acceptsCompression = false
    /// For HTTP's Basic scheme; nil takes what the URL has.
    public var credentials: Credentials?
    /// The highest average rate of the response's body; nil is without bound.
    public var bytesPerSecondLimit: Int?
    /// How many redirects are followed; 0 takes the redirect itself for the answer.
    public var maxRedirects = 10
    /// True where the request may be sent again although the first one may have been carried out.
    public var isMarkedIdempotent = false
    /// When it is too late for the task, waiting and suspended or not; nil is never.
    ///
    /// The task fails as `deadlineExceeded` then.
    public var expires: WallTime?
    /// What the body's SHA-256 has to be; another one fails the task as `digestMismatch`.
    ///
    /// A file is checked before it is moved to its place, and with every byte of it that an earlier process left; what
    /// goes into a stream or a descriptor is delivered before it can be checked.
    public var sha256: ContentDigest?
    /// Where an earlier download ended that this one continues; see ``resume(from:)``.
    public internal(set) var resuming: ResumeData? {
        get { self.resumeBox?.data }
        set { self.resumeBox = newValue.map(ResumeBox.init) }
    }
    /// Whom this task trusts; nil is as the session says.
    public var tls: TLSPolicy?

    // Boxed: few tasks have one, and each would keep room for it.
    private var resumeBox: ResumeBox?

    let address: RequestURL

    /// A request.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` and one sentence about what cannot be sent.
    public init(
        url: String, method: String = "GET", headers: [HeaderField] = [], body: RequestBody = .none
    ) throws(TaskError) {
        guard HeaderField.isToken(method) else {
            throw TaskRequest.invalid("\"\(method)\" is not a request method")
        }
        try TaskRequest.check(headers)
        do {
            self.address = try RequestURL(url)
        } catch {
            throw TaskRequest.invalid(error.description)
        }
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// What the task does with bodies.
    public var kind: TaskKind {
        if self.body != .none { return .upload }
        return switch self.destination {
        case .file, .descriptor, .stream: .download
        case .memory, .discard: .data
        }
    }

    /// True where sending the request twice does no more than sending it once (RFC 9110 9.2.2).
    public var isIdempotent: Bool {
        switch self.method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE": true
        default: self.isMarkedIdempotent || self.headers.first(named: "Idempotency-Key") != nil
        }
    }

    static func check(_ headers: [HeaderField]) throws(TaskError) {
        for field in headers {
            guard HeaderField.isToken(field.name) else {
                throw TaskRequest.invalid("\"\(field.name)\" is not a name that a header can have")
            }
            guard HeaderField.isValue(field.value) else {
                throw TaskRequest.invalid("the value of the header \(field.name) has a control character in it")
            }
        }
    }

    static func invalid(_ sentence: String) -> TaskError {
        TaskError(reason: .invalidRequest, underlying: sentence)
    }
}

/// Resume data out of the way.
private final class ResumeBox: Sendable {
    let data: ResumeData

    init(_ data: ResumeData) { self.data = data }
}
