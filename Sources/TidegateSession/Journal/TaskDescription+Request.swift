public import TidegateCore
internal import TidegateTransfer

extension TaskDescription {
    /// The largest body that the journal itself keeps: 16 MiB; larger ones belong into files.
    public static let bodyLimit = 16 << 20

    /// Describes a request; looks at its file, so that another content later is noticed.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` or `fileError` and one sentence, where the request
    ///   cannot outlive its process.
    public init(_ request: TaskRequest, key: String?) throws(TaskError) {
        self.url = request.url
        self.method = request.method
        self.headers = request.headers
        self.body = try TaskDescription.body(of: request)
        self.destination = try TaskDescription.place(of: request)
        self.key = key
        self.name = request.name
        self.connectTimeout = request.connectTimeout
        self.idleTimeout = request.idleTimeout
        self.attemptTimeout = request.attemptTimeout
        self.deadline = request.deadline
        self.gate = request.gate.map { Gate(require: $0.require.map(\.description), patience: $0.patience) }
        self.retry = request.retry.map(Retry.init)
        self.priority = request.priority
        self.usesHTTP2 = request.usesHTTP2
        self.acceptsCompression = request.acceptsCompression
        self.user = request.credentials?.user
        self.password = request.credentials?.password
        self.bytesPerSecondLimit = request.bytesPerSecondLimit
        self.maxRedirects = request.maxRedirects
        self.isMarkedIdempotent = request.isMarkedIdempotent
        self.expires = request.expires?.microseconds
        self.sha256 = request.sha256?.description
        self.resuming = request.resuming
        self.trust = request.tls.map { Trust(caFile: $0.caFile, pins: $0.pins, isInsecure: $0.isInsecure) }
    }

    /// The request again.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` where this version would not accept it.
    public func request() throws(TaskError) -> TaskRequest {
        var request = try TaskRequest(
            url: self.url, method: self.method, headers: self.headers,
            body: self.requestBody)
        request.name = self.name
        request.destination = self.requestDestination
        request.connectTimeout = self.connectTimeout
        request.idleTimeout = self.idleTimeout
        request.attemptTimeout = self.attemptTimeout
        request.deadline = self.deadline
        do throws(PolicyError) {
            request.gate = try self.gate?.policy()
            request.retry = try self.retry?.policy()
            request.tls = try self.trust?.policy()
        } catch {
            throw TaskDescription.refusal(error.description)
        }
        request.priority = self.priority
        request.usesHTTP2 = self.usesHTTP2
        request.acceptsCompression = self.acceptsCompression
        request.credentials = self.user.map { Credentials(user: $0, password: self.password ?? "") }
        request.bytesPerSecondLimit = self.bytesPerSecondLimit
        request.maxRedirects = self.maxRedirects
        request.isMarkedIdempotent = self.isMarkedIdempotent
        request.expires = self.expires.map { WallTime(microseconds: $0) }
        request.sha256 = self.sha256.flatMap { ContentDigest($0) }
        request.resuming = self.resuming
        return request
    }

    private var requestBody: RequestBody {
        switch self.body {
        case .none: .none
        case .data(let data): .data(data.bytes)
        case .file(let path, _): .file(path)
        }
    }

    private var requestDestination: Destination {
        switch self.destination {
        case .memory(let limit): .memory(limit: limit)
        case .file(let path, let permissions): .file(path, permissions: permissions)
        case .discard: .discard
        }
    }

    private static func body(of request: TaskRequest) throws(TaskError) -> Body {
        switch request.body {
        case .none: return .none
        case .stream: throw self.refusal("a stream does not survive its process")
        case .data(let bytes):
            guard bytes.count <= TaskDescription.bodyLimit else {
                throw self.refusal("the body has more than \(TaskDescription.bodyLimit >> 20) MiB: give it as a file")
            }
            return .data(Bytes(bytes))
        case .file(let path):
            guard path.hasPrefix("/") else { throw self.refusal("\"\(path)\" is not an absolute path") }
            do {
                return .file(path, try FileIdentity.of(path))
            } catch {
                throw TaskError(reason: .fileError, underlying: error.description)
            }
        }
    }

    private static func place(of request: TaskRequest) throws(TaskError) -> Place {
        switch request.destination {
        case .memory(let limit): return .memory(limit: limit)
        case .discard: return .discard
        case .stream: throw self.refusal("a stream does not survive its process")
        case .descriptor: throw self.refusal("an open descriptor does not survive its process")
        case .file(let path, let permissions, _):
            guard path.hasPrefix("/") else { throw self.refusal("\"\(path)\" is not an absolute path") }
            if let obstacle = DownloadPaths(destination: path).obstacle() {
                throw TaskError(reason: .fileError, underlying: obstacle)
            }
            return .file(path, permissions: permissions)
        }
    }

    private static func refusal(_ sentence: String) -> TaskError {
        TaskError(reason: .invalidRequest, underlying: sentence)
    }
}

extension TaskDescription.Gate {
    func policy() throws(PolicyError) -> GatePolicy {
        var phrase: [Requirement] = []
        for word in self.require {
            guard let requirement = Requirement(word) else {
                throw PolicyError(field: "gate.require", problem: "\"\(word)\" is not a requirement")
            }
            phrase.append(requirement)
        }
        return try GatePolicy(require: phrase, patience: self.patience)
    }
}

extension TaskDescription.Retry {
    init(_ policy: RetryPolicy) {
        self.init(
            attempts: policy.attempts, base: policy.base, cap: policy.cap, maxElapsed: policy.maxElapsed,
            statuses: policy.statuses.sorted())
    }

    func policy() throws(PolicyError) -> RetryPolicy {
        try RetryPolicy(
            attempts: self.attempts, base: self.base, cap: self.cap, maxElapsed: self.maxElapsed,
            statuses: Set(self.statuses))
    }
}

extension TaskDescription.Trust {
    func policy() throws(PolicyError) -> TLSPolicy {
        try TLSPolicy(caFile: self.caFile, pins: self.pins, isInsecure: self.isInsecure)
    }
}
