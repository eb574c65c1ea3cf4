internal import CCurl
internal import HTTPTypes
internal import TidegateCore

/// Sets the options of a transfer's handle: all of them, or only those that differ from the previous attempt's.
struct TransferOptions: ~Copyable {
    /// The options that the handle keeps; nil if the next attempt must set everything.
    private var reused: ReusedOptions?
    /// The handle's URL; nil after a reset.
    private var url: HTTPURL?
    private let curlURL: CurlURL
    // libcurl reads the lists until the transfer ends.
    private var fields = CurlList()
    /// The fields of an attempt without fields of its own: only the User-Agent.
    private var agent = CurlList()
    private var resolve = CurlList()
    private var proxyFields = CurlList()
    private var otherPeer = CurlList()
    /// Whether the handle has non-empty lists, from this attempt or the last.
    private var hasLists = false
    /// The lease to confirm once the attempt has started; nil if it carries no line of addresses.
    private var lease: ResolveLease?

    init() throws(CurlError) { self.curlURL = try CurlURL() }

    mutating func configure(
        _ transfer: CurlTransfer, _ request: Indirect<AttemptRequest>, _ pool: ConnectionPool, at now: MonotonicTime
    ) throws(CurlError) {
        if self.reused?.fits(request, pool) != true { try self.setEverything(transfer, request, pool) }
        if request.value.url !== self.url { try self.setURL(request, on: transfer.easy) }
        try self.setFields(request)
        // The addresses are those of the host to connect to: the proxy's, if one is used.
        let peer =
            request.value.proxy.map { Origin(scheme: .http, target: $0.target) }
            ?? request.value.connectsTo.map { Origin(scheme: request.value.url.scheme, target: $0) }
            ?? request.value.url.origin
        if let (line, lease) = pool.resolveCache.line(for: peer, request.value.addresses, at: now) {
            try self.resolve.append(line)
            self.lease = lease
        }
        for field in request.value.proxyHeaders { try self.proxyFields.append("\(field.name.rawName): \(field.value)") }
        // A request with a proxy sets every option, and so does the next one.
        if !self.proxyFields.isEmpty { try transfer.easy.set(CURLOPT_PROXYHEADER, self.proxyFields) }
        // The same applies to a request that connects elsewhere.
        if let target = request.value.connectsTo {
            try self.otherPeer.append("::\(target.encoded)")
            try transfer.easy.set(CURLOPT_CONNECT_TO, self.otherPeer)
        }
        guard self.hasLists || !self.fields.isEmpty || !self.resolve.isEmpty else { return }
        // Set even if they are empty: the last attempt's lists are gone.
        self.hasLists = true
        if self.fields.isEmpty {
            try transfer.easy.set(CURLOPT_HTTPHEADER, self.agent)
        } else {
            try transfer.easy.set(CURLOPT_HTTPHEADER, self.fields)
        }
        try transfer.easy.set(CURLOPT_RESOLVE, self.resolve)
        self.hasLists = !self.fields.isEmpty || !self.resolve.isEmpty
    }

    /// Takes the lease to confirm.
    mutating func takeLease() -> ResolveLease? { self.lease.take() }

    /// Drops the state of one attempt.
    mutating func clear() {
        self.fields.clear()
        self.resolve.clear()
        self.proxyFields.clear()
        self.otherPeer.clear()
        self.lease = nil
    }

    private mutating func setEverything(
        _ transfer: CurlTransfer, _ request: Indirect<AttemptRequest>, _ pool: ConnectionPool
    ) throws(CurlError) {
        self.reused = nil
        self.url = nil
        transfer.easy.reset()
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        try transfer.easy.setCallbacks(
            context: context, poolContext: Unmanaged.passUnretained(pool).toOpaque(), number: transfer.number)
        try transfer.easy.setConnection(request)
        try transfer.easy.setTLS(request.value.tls, context: context)
        try transfer.easy.setRequest(request, context: context)
        self.agent.clear()
        if let agent = request.value.agentField {
            try self.agent.append(agent)
            try transfer.easy.set(CURLOPT_HTTPHEADER, self.agent)
        }
        // The errors of HTTP/2 are only in the log.
        if request.value.wireLog != nil || request.value.allowsHTTP2 { try transfer.easy.setLog(context: context) }
        self.reused = ReusedOptions(request, pool)
    }

    // The text only names the URL in messages; libcurl uses the parsed one.
    private mutating func setURL(_ request: Indirect<AttemptRequest>, on easy: borrowing EasyHandle) throws(CurlError) {
        let text = request.requestedURL
        try self.curlURL.parse(text)
        try easy.set(CURLOPT_URL, text)
        try easy.set(CURLOPT_CURLU, pointer: self.curlURL.pointer)
        self.url = request.value.url
    }

    private mutating func setFields(_ request: Indirect<AttemptRequest>) throws(CurlError) {
        for field in request.value.headers {
            // libcurl sends an empty field only with a semicolon (CURLOPT_HTTPHEADER(3)).
            try self.fields.append(
                field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
        }
        let hasOwnEncoding = request.value.headers.contains { $0.name == .acceptEncoding }
        if request.value.acceptsCompression, !CurlLibrary.decodesOnDemand, !hasOwnEncoding {
            try self.fields.append("Accept-Encoding: \(CurlLibrary.codings)")
        }
        if let resume = request.value.resume {
            // Ranges count bytes of the encoded body, so only the encoding of the held bytes can continue it.
            if !hasOwnEncoding { try self.fields.append("Accept-Encoding: \(resume.contentEncoding ?? "identity")") }
            if let validator = resume.validator?.fieldValue { try self.fields.append("If-Range: \(validator)") }
        }
        // libcurl would wait for approval before every upload; that pays off only if a refusal saves much.
        let isWorthAsking = request.value.awaitsContinue && request.value.body.length > CurlLimits.expectContinue
        if request.value.method != "GET" || !request.value.body.isNone, request.isUpload, !isWorthAsking,
            !request.value.headers.contains(where: { $0.name == .expect })
        {
            try self.fields.append("Expect:")
        }
        if !self.fields.isEmpty, let agent = request.value.agentField { try self.fields.append(agent) }
    }
}

extension AttemptRequest {
    /// The User-Agent as an ordinary field, because libcurl writes its own one twice, byte by byte; nil if it is not
    /// sent or a proxy must see it as well.
    fileprivate var agentField: String? {
        guard self.proxy == nil, let agent = self.userAgent, !agent.isEmpty else { return nil }
        return "User-Agent: \(agent)"
    }
}

/// The options that a plain GET leaves in libcurl's handle: the next similar GET skips them, which saves a third of its
/// cost.
///
/// Any other request always sets everything, above all secrets.
struct ReusedOptions {
    private let generation: Int
    private let connectTimeout: Duration
    private let allowsHTTP2: Bool
    private let acceptsCompression: Bool
    private let staysInMemory: Bool
    private let isLogged: Bool
    private let userAgent: String?
    private let tls: Indirect<TLSOptions>

    init?(_ request: Indirect<AttemptRequest>, _ pool: ConnectionPool) {
        guard ReusedOptions.isPlain(request) else { return nil }
        self.generation = pool.generation
        self.connectTimeout = request.value.connectTimeout
        self.allowsHTTP2 = request.value.allowsHTTP2
        self.acceptsCompression = request.value.acceptsCompression
        self.staysInMemory = request.staysInMemory
        self.isLogged = request.value.wireLog != nil
        self.userAgent = request.value.userAgent
        self.tls = request.value.sharedTLS
    }

    /// True if a request leaves the same options; compared in place, because creating a value to compare costs more.
    func fits(_ request: Indirect<AttemptRequest>, _ pool: ConnectionPool) -> Bool {
        ReusedOptions.isPlain(request) && self.generation == pool.generation
            && self.connectTimeout == request.value.connectTimeout
            && self.allowsHTTP2 == request.value.allowsHTTP2
            && self.acceptsCompression == request.value.acceptsCompression
            && self.staysInMemory == request.staysInMemory && self.isLogged == (request.value.wireLog != nil)
            && self.userAgent == request.value.userAgent
            && (self.tls === request.value.sharedTLS || self.tls == request.value.sharedTLS)
    }

    private static func isPlain(_ request: Indirect<AttemptRequest>) -> Bool {
        request.value.method == "GET" && request.value.body.isNone && request.value.resume == nil
            && request.value.proxy == nil
            && request.value.credentials == nil && request.value.bytesPerSecondLimit == nil
            && request.value.lastStage > .tls && !request.value.usesFreshConnection && !request.value.wantsCertificate
            && request.zone == nil
    }
}

/// A CURLOPT_RESOLVE line that an attempt carries to libcurl's address cache.
typealias ResolveLease = (origin: Origin, number: Int)

/// Tracks the addresses in libcurl's cache (CURLOPT_RESOLVE).
struct ResolveCache {
    private struct Entry {
        let addresses: [IPAddress]
        let created: MonotonicTime
        let number: Int
        /// Whether libcurl has read a line with these addresses, which happens only when an attempt starts.
        var isLoaded = false
    }

    private var entries: [Origin: Entry] = [:]
    private var lastNumber = 0

    // libcurl's entries expire after 60 s; they are renewed after 30.
    private static let lifetime = Duration.seconds(30)

    /// The CURLOPT_RESOLVE line that an attempt needs, with the lease to confirm once the attempt has started; nil if
    /// libcurl's cache already has these addresses.
    mutating func line(
        for origin: Origin, _ addresses: [IPAddress], at now: MonotonicTime
    ) -> (line: String, lease: ResolveLease)? {
        guard !addresses.isEmpty, origin.target.address == nil, let port = origin.target.port else { return nil }
        let entry = self.current(origin, addresses, at: now)
        guard !entry.isLoaded else { return nil }
        let list = addresses.map { $0.family == .ipv6 ? "[\($0)]" : "\($0)" }.joined(separator: ",")
        // The + makes the entry expire.
        return ("+\(origin.target.host):\(port):\(list)", (origin, entry.number))
    }

    private mutating func current(_ origin: Origin, _ addresses: [IPAddress], at now: MonotonicTime) -> Entry {
        if let entry = self.entries[origin], entry.addresses == addresses, now - entry.created < ResolveCache.lifetime {
            return entry
        }
        if self.entries.count >= 512 {
            self.entries = self.entries.filter { now - $0.value.created < ResolveCache.lifetime }
        }
        self.lastNumber += 1
        let entry = Entry(addresses: addresses, created: now, number: self.lastNumber)
        self.entries[origin] = entry
        return entry
    }

    /// Records that the attempt has started: libcurl has read its line, which stays valid unless another one came
    /// since.
    mutating func confirm(_ lease: ResolveLease) {
        if self.entries[lease.origin]?.number == lease.number { self.entries[lease.origin]?.isLoaded = true }
    }
}
