/// One look at a web server, as a rung needs it: a connection, a handshake or an answer, and nothing repeated.
public struct HTTPCheckRequest: Sendable, Hashable {
    /// How far to go.
    public enum Depth: String, Sendable, CaseIterable, Hashable {
        /// A TCP connection.
        case tcp
        /// A TLS handshake on top of it.
        case tls
        /// A request and its answer; redirects are not followed.
        case http
    }

    /// An absolute http or https URL; for `tcp` and `tls` only its host and port matter.
    public var url: String
    /// The address to connect to; the URL's host still names the server (SNI, Host).
    public var address: IPAddress
    /// How far to go.
    public var depth: Depth
    /// The request method.
    public var method: String
    /// When to give up, from the start.
    public var limit: Duration
    /// How much of the answer's body to keep.
    public var bodyLimit: Int

    /// A question from its parts; the defaults ask for a whole answer by GET and keep none of its body.
    public init(
        url: String, address: IPAddress, depth: Depth = .http, method: String = "GET",
        limit: Duration = .seconds(10), bodyLimit: Int = 0
    ) {
        self.url = url
        self.address = address
        self.depth = depth
        self.method = method
        self.limit = limit
        self.bodyLimit = bodyLimit
    }
}

/// What a look at a web server came to.
public struct HTTPCheckResult: Sendable, Hashable {
    /// How far it came.
    public enum Reached: Int, Sendable, Comparable, Hashable {
        /// No connection.
        case nothing
        /// A TCP connection.
        case tcp
        /// A TLS handshake.
        case tls
        /// An answer's head.
        case http

        /// Orders by how far.
        public static func < (left: Reached, right: Reached) -> Bool { left.rawValue < right.rawValue }
    }

    /// How far it came.
    public var reached: Reached
    /// Why it came no further than that; nil where it came as far as it was asked to.
    public var failure: TaskFailure?
    /// How the socket failed, where it did.
    public var socketError: FailureEvidence.SocketError?
    /// Who refused with an ICMP error, where somebody did.
    public var refusal: ICMPError?
    /// What went wrong in words without a final full stop; empty where nothing did.
    public var text: String
    /// The status, 100 to 599; nil where none came.
    public var status: Int?
    /// The Location field, where one came.
    public var location: String?
    /// The first bytes of the body, as many as were asked for.
    public var body: [UInt8]
    /// The phases that were run.
    public var phases: PhaseDurations
    /// The local address of the connection; nil where there was none.
    public var local: IPAddress?
    /// The server's certificate, where one was shown.
    public var certificate: CertificateSummary?

    /// An answer from its parts.
    public init(
        reached: Reached, failure: TaskFailure? = nil, socketError: FailureEvidence.SocketError? = nil,
        refusal: ICMPError? = nil, text: String = "", status: Int? = nil, location: String? = nil,
        body: [UInt8] = [], phases: PhaseDurations = .init(), local: IPAddress? = nil,
        certificate: CertificateSummary? = nil
    ) {
        self.reached = reached
        self.failure = failure
        self.socketError = socketError
        self.refusal = refusal
        self.text = text
        self.status = status
        self.location = location
        self.body = body
        self.phases = phases
        self.local = local
        self.certificate = certificate
    }
}

/// What people ask of a server's certificate first.
public struct CertificateSummary: Sendable, Hashable {
    /// Whom it names.
    public var subject: String
    /// Who signed it.
    public var issuer: String
    /// The beginning of its validity, in the certificate's own words (`Nov 21 12:00:00 2026 GMT`); empty where unknown.
    public var notBefore: String
    /// The end of its validity, in the same words.
    public var notAfter: String
    /// The names and addresses it is for (subjectAltName, RFC 5280), as many as are kept.
    public var names: [String]

    /// A summary from its parts.
    public init(subject: String, issuer: String, notBefore: String = "", notAfter: String, names: [String] = []) {
        self.subject = subject
        self.issuer = issuer
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.names = names
    }
}

/// Looks at web servers for the rungs tcp, tls, http and internet; the front door passes one in.
public protocol HTTPChecker: Sendable {
    /// Asks once; no gate, no retry, no event. Ends within the question's limit and a second.
    func ask(_ question: HTTPCheckRequest) async -> HTTPCheckResult
}
