internal import CCurl
internal import Glibc
internal import HTTPTypes
internal import TidegateCore

extension CurlTransfer {
    /// Tells libcurl about an attempt: everything, or only what differs from the last one in this slot.
    func configure(
        _ request: AttemptRequest, _ epoch: ConnectionPool, _ origin: Origin, at now: MonotonicTime
    ) throws(CurlError) {
        if self.profile?.fits(request, epoch) != true {
            self.profile = nil
            self.url = nil
            self.easy.reset()
            try self.setCallbacks(epoch)
            try self.setConnection(request)
            try self.setTLS(request.tls)
            try self.setRequest(request)
            self.profile = ReusedOptions(request, epoch)
        }
        if request.url !== self.url {
            try self.setURL(CurlTransfer.urlText(request))
            self.url = request.url
        }
        try self.setFields(request)
        if let line = epoch.resolveLine(for: origin, request.addresses, at: now) { try self.resolveList.append(line) }
        // Also where they are empty: the last attempt's lists are gone.
        try self.easy.set(CURLOPT_HTTPHEADER, self.fieldList)
        try self.easy.set(CURLOPT_RESOLVE, self.resolveList)
    }

    // The text is only told, and what was parsed is used.
    private func setURL(_ text: String) throws(CurlError) {
        try self.parsedURL.parse(text)
        try self.easy.set(CURLOPT_URL, text)
        try self.easy.set(CURLOPT_CURLU, pointer: self.parsedURL.pointer)
    }

    // Whether libcurl goes on from the connection to the handshake is the scheme's business.
    private static func urlText(_ request: AttemptRequest) -> String {
        switch request.lastStage {
        case .resolve, .connect: HTTPURL(scheme: .http, target: request.url.target).text
        case .tls: HTTPURL(scheme: .https, target: request.url.target).text
        case .request, .response, .body: request.url.text
        }
    }

    private func setCallbacks(_ epoch: ConnectionPool) throws(CurlError) {
        let slot = Unmanaged.passUnretained(self).toOpaque()
        let raw = self.easy.raw
        try CurlError.check(tg_easy_set_write(raw, CURLOPT_HEADERFUNCTION, takeHeader), "CURLOPT_HEADERFUNCTION")
        try CurlError.check(tg_easy_set_write(raw, CURLOPT_WRITEFUNCTION, takeBody), "CURLOPT_WRITEFUNCTION")
        try CurlError.check(tg_easy_set_prerequest(raw, aboutToSend), "CURLOPT_PREREQFUNCTION")
        try CurlError.check(tg_easy_set_open(raw, openSocket), "CURLOPT_OPENSOCKETFUNCTION")
        try CurlError.check(tg_easy_set_close(raw, closeSocket), "CURLOPT_CLOSESOCKETFUNCTION")
        try self.easy.set(CURLOPT_HEADERDATA, pointer: slot)
        try self.easy.set(CURLOPT_WRITEDATA, pointer: slot)
        try self.easy.set(CURLOPT_PREREQDATA, pointer: slot)
        try self.easy.set(CURLOPT_OPENSOCKETDATA, pointer: slot)
        try self.easy.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(epoch.log).toOpaque())
        try self.easy.set(CURLOPT_ERRORBUFFER, pointer: UnsafeMutableRawPointer(self.errorText))
        // A number, so that a finished handle leads to its slot without a search; 0 would be no pointer.
        try self.easy.set(CURLOPT_PRIVATE, pointer: UnsafeMutableRawPointer(bitPattern: self.number + 1))
    }

    private func setConnection(_ request: AttemptRequest) throws(CurlError) {
        try self.easy.set(CURLOPT_NOSIGNAL, 1)
        try self.easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        try self.easy.set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        // Each hop is an attempt of its own.
        try self.easy.set(CURLOPT_FOLLOWLOCATION, 0)
        let version = request.allowsHTTP2 ? Int(CURL_HTTP_VERSION_2TLS) : Int(CURL_HTTP_VERSION_1_1)
        try self.easy.set(CURLOPT_HTTP_VERSION, version)
        // Unset, both would be read from the environment.
        try self.easy.set(CURLOPT_PROXY, request.proxy?.proxyText ?? "")
        try self.easy.set(CURLOPT_NOPROXY, "")
        if request.proxy != nil { try self.easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1) }
        let milliseconds = request.connectTimeout.wholeNanoseconds / 1_000_000
        try self.easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, milliseconds)))
        try self.easy.set(CURLOPT_TCP_KEEPALIVE, 1)
        try self.easy.set(CURLOPT_TCP_KEEPIDLE, CurlLimits.keepAliveIdle)
        try self.easy.set(CURLOPT_TCP_KEEPINTVL, CurlLimits.keepAliveInterval)
        try self.easy.set(CURLOPT_MAXAGE_CONN, CurlLimits.connectionAge)
        let buffer = request.staysInMemory ? CurlLimits.smallReceiveBuffer : CurlLimits.receiveBuffer
        try self.easy.set(CURLOPT_BUFFERSIZE, buffer)
        if request.lastStage <= .tls { try self.easy.set(CURLOPT_CONNECT_ONLY, 1) }
        if request.usesFreshConnection {
            try self.easy.set(CURLOPT_FRESH_CONNECT, 1)
            try self.easy.set(CURLOPT_FORBID_REUSE, 1)
        }
        if request.wantsCertificate { try self.easy.set(CURLOPT_CERTINFO, 1) }
        guard let limit = request.bytesPerSecondLimit else { return }
        try self.easy.set(CURLOPT_MAX_SEND_SPEED_LARGE, offset: limit)
    }

    private func setTLS(_ tls: TLSOptions) throws(CurlError) {
        if let file = tls.caFile {
            try self.easy.set(CURLOPT_CAINFO, file)
            // Else the system's directory of certificates would be trusted, too.
            try self.easy.set(CURLOPT_CAPATH, pointer: nil)
        }
        if tls.isInsecure {
            try self.easy.set(CURLOPT_SSL_VERIFYPEER, 0)
            try self.easy.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if !tls.pins.isEmpty { try self.easy.set(CURLOPT_PINNEDPUBLICKEY, tls.pins.joined(separator: ";")) }
    }

    private func setRequest(_ request: AttemptRequest) throws(CurlError) {
        switch (request.method, request.body) {
        case ("GET", .none): break
        case ("HEAD", .none): try self.easy.set(CURLOPT_NOBODY, 1)
        // These three mean something with an empty body, and say so by a length of 0.
        case ("POST", .none), ("PUT", .none), ("PATCH", .none): try self.setUpload(request.method, 0)
        case (let method, .none): try self.easy.set(CURLOPT_CUSTOMREQUEST, method)
        case (let method, .bytes(let bytes)): try self.setUpload(method, Int64(bytes.count))
        case (let method, .file(_, let length)): try self.setUpload(method, length)
        // -1 makes libcurl send chunks.
        case (let method, .stream(_, let length)): try self.setUpload(method, length ?? -1)
        }
        if let credentials = request.credentials {
            try self.easy.set(CURLOPT_USERNAME, credentials.user)
            try self.easy.set(CURLOPT_PASSWORD, credentials.password)
        }
        if let agent = request.userAgent { try self.easy.set(CURLOPT_USERAGENT, agent) }
        if request.acceptsCompression, request.resume == nil { try self.easy.set(CURLOPT_ACCEPT_ENCODING, "") }
        // Not CURLOPT_RESUME_FROM: with that a changed file ends the transfer instead of giving the new one.
        if let resume = request.resume { try self.easy.set(CURLOPT_RANGE, "\(resume.offset)-") }
    }

    // One way for every method.
    private func setUpload(_ method: String, _ length: Int64) throws(CurlError) {
        try self.easy.set(CURLOPT_UPLOAD, 1)
        try self.easy.set(CURLOPT_CUSTOMREQUEST, method)
        try self.easy.set(CURLOPT_INFILESIZE_LARGE, offset: length)
        try self.easy.set(CURLOPT_UPLOAD_BUFFERSIZE, CurlLimits.sendBuffer)
        let slot = Unmanaged.passUnretained(self).toOpaque()
        try CurlError.check(tg_easy_set_read(self.easy.raw, giveBody), "CURLOPT_READFUNCTION")
        try CurlError.check(tg_easy_set_seek(self.easy.raw, seekBody), "CURLOPT_SEEKFUNCTION")
        try self.easy.set(CURLOPT_READDATA, pointer: slot)
        try self.easy.set(CURLOPT_SEEKDATA, pointer: slot)
    }

    private func setFields(_ request: AttemptRequest) throws(CurlError) {
        for field in request.headers {
            // libcurl sends an empty field only with a semicolon; with a colon it drops a field of its own.
            try self.fieldList.append(
                field.value.isEmpty ? "\(field.name.rawName):" : "\(field.name.rawName): \(field.value)")
        }
        if let resume = request.resume {
            // Ranges count bytes of the encoded body, so that only the plain one can be continued.
            try self.fieldList.append("Accept-Encoding: identity")
            if let validator = resume.validator?.fieldValue { try self.fieldList.append("If-Range: \(validator)") }
        }
        // libcurl would wait for a go-ahead before every upload; that pays only where a refusal saves much.
        if request.isUpload, request.body.length <= CurlLimits.expectContinue,
            !request.headers.contains(where: { $0.name == .expect })
        {
            try self.fieldList.append("Expect:")
        }
    }
}

extension HTTPURL {
    // User information included: libcurl authenticates to the proxy with it.
    fileprivate var proxyText: String {
        guard let userInfo = self.userInfo else { return self.origin.description }
        return "\(self.scheme.rawValue)://\(userInfo)@\(self.target)"
    }
}

extension AttemptRequest {
    fileprivate var staysInMemory: Bool {
        if case .memory = self.sink { true } else { false }
    }

    fileprivate var isUpload: Bool { !self.body.isNone || ["POST", "PUT", "PATCH"].contains(self.method) }
}

extension AttemptBody {
    fileprivate var length: Int64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let length): length
        case .stream(_, let length): length ?? 0
        }
    }

    fileprivate var isNone: Bool {
        if case .none = self { true } else { false }
    }
}

/// The options that a plain GET leaves in libcurl's handle, so that the next like it need not tell them again: that is
/// a third of its cost.
///
/// Requests with anything more to them always tell everything, secrets above all.
struct ReusedOptions {
    private let epoch: Int
    private let connectTimeout: Duration
    private let allowsHTTP2: Bool
    private let acceptsCompression: Bool
    private let staysInMemory: Bool
    private let userAgent: String?
    private let tls: TLSOptions

    init?(_ request: AttemptRequest, _ epoch: ConnectionPool) {
        guard ReusedOptions.isPlain(request) else { return nil }
        self.epoch = epoch.number
        self.connectTimeout = request.connectTimeout
        self.allowsHTTP2 = request.allowsHTTP2
        self.acceptsCompression = request.acceptsCompression
        self.staysInMemory = request.staysInMemory
        self.userAgent = request.userAgent
        self.tls = request.tls
    }

    /// True where a request leaves the same options; compared in place, because a profile of its own costs more.
    func fits(_ request: AttemptRequest, _ epoch: ConnectionPool) -> Bool {
        ReusedOptions.isPlain(request) && self.epoch == epoch.number && self.connectTimeout == request.connectTimeout
            && self.allowsHTTP2 == request.allowsHTTP2 && self.acceptsCompression == request.acceptsCompression
            && self.staysInMemory == request.staysInMemory && self.userAgent == request.userAgent
            && self.tls == request.tls
    }

    private static func isPlain(_ request: AttemptRequest) -> Bool {
        request.method == "GET" && request.body.isNone && request.resume == nil && request.proxy == nil
            && request.credentials == nil && request.bytesPerSecondLimit == nil
            && request.lastStage > .tls && !request.usesFreshConnection && !request.wantsCertificate
    }
}
