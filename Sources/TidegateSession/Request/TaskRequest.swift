public import HTTPTypes
public import TidegateCore
public import TidegateSerialization

/// One request with everything that a task needs to know about it.
public struct TaskRequest: Sendable {
    /// The method, a token such as `GET`.
    public var method: String { self.box.parts.method }
    /// The URL as it was given.
    public var url: String { self.box.parts.url }
    /// The header fields that were given, in order.
    public internal(set) var headers: [HTTPField] {
        get { self.box.parts.headers }
        set { self.change { $0.headers = newValue } }
    }
    /// The request's body.
    public internal(set) var body: RequestBody {
        get { self.box.parts.body }
        set { self.change { $0.body = newValue } }
    }

    /// The name shown in lists and results.
    public var name: String? {
        get { self.options.name }
        set { self.options.name = newValue }
    }
    /// Where the response's body goes; by default into memory, 16 MiB at most.
    public var destination: Destination {
        get { self.box.parts.destination }
        set { self.change { $0.destination = newValue } }
    }
    /// How long a connection may take to be made, TLS included; 10 s by default.
    public var connectTimeout: Duration {
        get { self.options.connectTimeout }
        set { self.options.connectTimeout = newValue }
    }
    /// How long an attempt may go without a byte either way; 60 s by default.
    public var idleTimeout: Duration {
        get { self.options.idleTimeout }
        set { self.options.idleTimeout = newValue }
    }
    /// How long one attempt may take in all; nil is no limit.
    public var attemptTimeout: Duration? {
        get { self.options.attemptTimeout }
        set { self.options.attemptTimeout = newValue }
    }
    /// How long the task may take in all, waiting included and suspensions not; nil is no limit.
    public var deadline: Duration? {
        get { self.options.deadline }
        set { self.options.deadline = newValue }
    }
    /// What attempts wait for; nil uses the session's gate.
    public var gate: GatePolicy? {
        get { self.options.gate }
        set { self.options.gate = newValue }
    }
    /// How the task is retried; nil uses the session's policy.
    public var retry: RetryPolicy? {
        get { self.options.retry }
        set { self.options.retry = newValue }
    }
    /// Tasks with a higher priority go first when not all can run; 0 by default.
    public var priority: Int {
        get { self.options.priority }
        set { self.options.priority = newValue }
    }
    /// True offers HTTP/2 to https servers.
    public var usesHTTP2: Bool {
        get { self.options.usesHTTP2 }
        set { self.options.usesHTTP2 = newValue }
    }
    /// True requests a compressed response and decompresses it; such a response cannot be resumed.
    public var acceptsCompression: Bool {
        get { self.options.acceptsCompression }
        set { self.options.acceptsCompression = newValue }
    }
    /// For HTTP's Basic scheme; nil uses those of the URL.
    public var credentials: Credentials? {
        get { self.options.user.map { Credentials(user: $0, password: self.options.password ?? "") } }
        set { (self.options.user, self.options.password) = (newValue?.user, newValue?.password) }
    }
    /// The highest average rate of the response's body, in bytes per second; nil is no limit.
    public var bytesPerSecondLimit: Int? {
        get { self.options.bytesPerSecondLimit }
        set { self.options.bytesPerSecondLimit = newValue }
    }
    /// How many bytes the response's body may have, decoded, with what a resumed download holds; nil uses the session's.
    ///
    /// A longer one fails as `tooLarge`: at once if its length is announced, else when the limit is passed.
    public var maxBodyBytes: Int? {
        get { self.options.maxBodyBytes }
        set { self.options.maxBodyBytes = newValue }
    }
    /// How many redirects are followed, 10 by default; with 0 the redirect itself is the response (RFC 9110 15.4).
    public var maxRedirects: Int {
        get { self.options.maxRedirects }
        set { self.options.maxRedirects = newValue }
    }
    /// Which redirects are followed, and with what; nil uses the session's policy.
    public var redirects: RedirectPolicy? {
        get { self.options.redirects }
        set { self.options.redirects = newValue }
    }
    /// True if the request may be sent again although the first one may have been executed.
    public var isMarkedIdempotent: Bool {
        get { self.options.isMarkedIdempotent }
        set { self.options.isMarkedIdempotent = newValue }
    }
    /// When the task expires, even if it waits or is suspended; nil is never.
    ///
    /// The task fails as `deadlineExceeded` then.
    public var expires: WallTime? {
        get { self.options.expires.map { WallTime(microseconds: $0) } }
        set { self.options.expires = newValue?.microseconds }
    }
    /// What the body's SHA-256 has to be; another one fails the task as `digestMismatch`.
    ///
    /// A file is checked before it is moved to its place, and with every byte of it that an earlier process left; what
    /// goes into a stream or a descriptor is delivered before it can be checked.
    public var sha256: ContentDigest? {
        get { self.options.sha256.flatMap { ContentDigest($0) } }
        set { self.options.sha256 = newValue?.description }
    }
    /// The earlier download that this one continues; see ``resume(from:)``.
    package internal(set) var resuming: ResumeData? {
        get { self.options.resuming }
        set { self.options.resuming = newValue }
    }
    /// True makes the directories of a ``Destination/file(_:permissions:continues:)`` that are missing, with 0777 less
    /// the umask (mkdir(2)).
    public var createsDirectories: Bool {
        get { self.options.createsDirectories ?? false }
        set { self.options.createsDirectories = newValue ? true : nil }
    }
    /// The directories that the files of the task must be below, opened without following links; nil is any file.
    package var confinedTo: [String]? {
        get { self.options.confinedTo }
        set { self.options.confinedTo = newValue }
    }
    /// The proxies of this task; nil uses the session's, ``ProxyPolicy/direct`` none.
    public var proxy: ProxyPolicy? {
        get { self.options.proxy }
        set { self.options.proxy = newValue }
    }
    /// What certificates this task trusts; nil uses the session's policy.
    public var tls: ServerTrustPolicy? {
        get { self.options.trust }
        set { self.options.trust = newValue }
    }

    /// The trace that the task continues: each attempt is a part of it, and sends `traceparent` and `tracestate` (W3C Trace
    /// Context); nil sends neither, unless the session starts traces.
    ///
    /// A redirect to another origin takes neither along, unless its policy is `free`. A request with a field `traceparent`
    /// of its own is part of that trace, and sends the field as it is.
    public var trace: TraceContext? {
        get {
            (self.ownTraceParent ?? self.options.traceParent).flatMap {
                TraceContext(traceParent: $0, state: self.options.traceState)
            }
        }
        set { (self.options.traceParent, self.options.traceState) = (newValue?.traceParent, newValue?.state) }
    }

    /// The field `traceparent` among the header fields.
    var ownTraceParent: String? { self.headers.first { $0.name.canonicalName == "traceparent" }?.value }

    var address: HTTPURL { self.box.parts.address }
    var firstHop: Hop { self.box.firstHop }

    /// Everything that has a key in the journal.
    var options: RequestOptions {
        get { self.box.parts.options }
        set { self.change { $0.options = newValue } }
    }

    private var box: RequestBox

    /// True if both are unchanged copies of one request; two others can have equal values and still be different.
    func isSame(as other: TaskRequest) -> Bool { self.box === other.box }

    /// A request.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` and one sentence about what cannot be sent.
    public init(
        url: String, method: String = "GET", headers: [HTTPField] = [], body: RequestBody = .none
    ) throws(TaskError) {
        guard HTTPRequest.Method(method) != nil else {
            throw TaskRequest.invalid("\"\(method)\" is not a request method")
        }
        try TaskRequest.check(headers)
        do {
            let address = try HTTPURL(url)
            self.box = RequestBox(
                RequestBox.Parts(method: method, url: url, address: address, body: body, headers: headers))
        } catch {
            throw TaskRequest.invalid(error.description)
        }
    }

    /// The request that a serializer made.
    ///
    /// A form of data alone is sent as bytes, any other as a stream with a length if every part has one; such a request
    /// is only repeated with ``SessionHooks/newBodyStream``. With `compressing` the body is sent as gzip.
    /// - Throws: ``TaskError`` with the reason `invalidRequest` and one sentence about what cannot be sent, or
    ///   `fileError` if a file of a form cannot be read.
    public init(_ serialized: SerializedRequest, compressing: Bool = false) throws(TaskError) {
        var headers = serialized.headers
        var body: RequestBody
        switch serialized.body {
        case .none: body = .none
        case .data(let bytes): body = .data(bytes)
        case .multipart(let form):
            // Without the form's own boundary nobody can read it.
            headers.removeAll { $0.name == .contentType }
            headers.append(HTTPField(name: .contentType, value: form.contentType))
            body = try RequestBody(form)
        }
        if compressing, body != .none {
            body = try body.gzipped()
            headers.append(HTTPField(name: .contentEncoding, value: "gzip"))
        }
        try self.init(url: serialized.url, method: serialized.method, headers: headers, body: body)
    }

    init(_ other: TaskRequest, url: String, address: HTTPURL, destination: Destination) {
        let parts = other.box.parts
        self.box = RequestBox(
            RequestBox.Parts(
                method: parts.method, url: url, address: address, body: parts.body, headers: parts.headers,
                destination: destination, options: parts.options))
    }

    private mutating func change(_ change: (inout RequestBox.Parts) -> Void) {
        var parts = self.box.parts
        change(&parts)
        self.box = RequestBox(parts)
    }

    /// What the task does with bodies.
    package var kind: TaskKind { self.box.kind }

    /// True if sending the request twice does no more than sending it once (RFC 9110 9.2.2).
    package var isIdempotent: Bool { self.box.isIdempotent }

    /// What is wrong with the request's gate, retry or TLS policy; nil if nothing is.
    var policyError: ConfigurationValueError? { self.box.policyError }

    static func check(_ headers: [HTTPField]) throws(TaskError) {
        for field in headers {
            // With a wrong length the server would read what is left of this body as the next request.
            guard field.name != .contentLength, field.name != .transferEncoding else {
                throw TaskRequest.invalid("the header \(field.name) follows from the body and cannot be given")
            }
        }
    }

    static func invalid(_ sentence: String) -> TaskError {
        TaskError(reason: .invalidRequest, underlying: sentence)
    }
}
