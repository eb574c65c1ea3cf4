internal import CCurl
internal import TidegateCore

/// libcurl's options for a request, besides its URL and fields.
extension EasyHandle {
    /// Sets the callbacks: `context` is the transfer's, `poolContext` the pool's.
    func setCallbacks(
        context: UnsafeMutableRawPointer, poolContext: UnsafeMutableRawPointer, number: Int
    ) throws(CurlError) {
        try CurlError.check(
            tg_easy_set_write(self.raw, CURLOPT_HEADERFUNCTION, receiveHeader), "CURLOPT_HEADERFUNCTION")
        try CurlError.check(tg_easy_set_write(self.raw, CURLOPT_WRITEFUNCTION, writeBody), "CURLOPT_WRITEFUNCTION")
        try CurlError.check(tg_easy_set_prerequest(self.raw, beforeSending), "CURLOPT_PREREQFUNCTION")
        try CurlError.check(tg_easy_set_open(self.raw, openSocket), "CURLOPT_OPENSOCKETFUNCTION")
        try CurlError.check(tg_easy_set_close(self.raw, closeSocket), "CURLOPT_CLOSESOCKETFUNCTION")
        try self.set(CURLOPT_HEADERDATA, pointer: context)
        try self.set(CURLOPT_WRITEDATA, pointer: context)
        try self.set(CURLOPT_PREREQDATA, pointer: context)
        try self.set(CURLOPT_OPENSOCKETDATA, pointer: context)
        try self.set(CURLOPT_CLOSESOCKETDATA, pointer: poolContext)
        try self.set(CURLOPT_ERRORBUFFER, pointer: UnsafeMutableRawPointer(self.errorBuffer))
        // A number, so that a finished handle leads to its transfer without a search; 0 would be a null pointer.
        try self.set(CURLOPT_PRIVATE, pointer: UnsafeMutableRawPointer(bitPattern: number + 1))
    }

    /// Makes libcurl log to the transfer of `context`.
    func setLog(context: UnsafeMutableRawPointer) throws(CurlError) {
        try CurlError.check(tg_easy_set_debug(self.raw, logWire), "CURLOPT_DEBUGFUNCTION")
        try self.set(CURLOPT_DEBUGDATA, pointer: context)
        try self.set(CURLOPT_VERBOSE, 1)
    }

    func setConnection(_ request: Indirect<AttemptRequest>) throws(CurlError) {
        try self.set(CURLOPT_NOSIGNAL, 1)
        try self.set(CURLOPT_PROTOCOLS_STR, "http,https")
        try self.set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        // The session follows redirects: each hop is an attempt of its own.
        try self.set(CURLOPT_FOLLOWLOCATION, 0)
        let version = request.value.allowsHTTP2 ? Int(CURL_HTTP_VERSION_2TLS) : Int(CURL_HTTP_VERSION_1_1)
        try self.set(CURLOPT_HTTP_VERSION, version)
        // libcurl would read both from the environment if they were not set.
        try self.set(CURLOPT_PROXY, request.value.proxy?.textWithCredentials ?? "")
        try self.set(CURLOPT_NOPROXY, "")
        if request.value.proxy != nil { try self.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1) }
        let milliseconds = request.value.connectTimeout.wholeNanoseconds / 1_000_000
        try self.set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, milliseconds)))
        try self.set(CURLOPT_TCP_KEEPALIVE, 1)
        try self.set(CURLOPT_TCP_KEEPIDLE, CurlLimits.keepAliveIdle)
        try self.set(CURLOPT_TCP_KEEPINTVL, CurlLimits.keepAliveInterval)
        try self.set(CURLOPT_MAXAGE_CONN, CurlLimits.connectionAge)
        try self.setReceiveBuffer(request.staysInMemory ? CurlLimits.smallReceiveBuffer : CurlLimits.receiveBuffer)
        if request.value.lastStage <= .tls { try self.set(CURLOPT_CONNECT_ONLY, 1) }
        if let zone = request.zone { try self.set(CURLOPT_ADDRESS_SCOPE, Int(zone)) }
        // libcurl ignores zones when it reuses a connection.
        if request.value.usesFreshConnection || request.zone != nil {
            try self.set(CURLOPT_FRESH_CONNECT, 1)
            try self.set(CURLOPT_FORBID_REUSE, 1)
        }
        // Received bytes are throttled by PauseState.
        guard let limit = request.value.bytesPerSecondLimit else { return }
        try self.set(CURLOPT_MAX_SEND_SPEED_LARGE, offset: limit)
    }

    // A handle keeps its buffer after a transfer that found no address, and libcurl then refuses another size (7.71 on).
    // No buffer is smaller than libcurl's default, which applies after a reset.
    private func setReceiveBuffer(_ size: Int) throws(CurlError) {
        let code = tg_easy_set_long(self.raw, CURLOPT_BUFFERSIZE, size)
        if code != CURLE_BAD_FUNCTION_ARGUMENT { try CurlError.check(code, "CURLOPT_BUFFERSIZE") }
    }

    func setTLS(_ tls: TLSOptions, context: UnsafeMutableRawPointer) throws(CurlError) {
        try CurlError.check(tg_easy_set_ssl_context(self.raw, prepareTLS, context), "CURLOPT_SSL_CTX_FUNCTION")
        // A resumed session shows no chain, and the transfer that verified it had other pins.
        try self.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        try self.setAuthorities(tls)
        if let file = tls.crlFile {
            try self.set(CURLOPT_CRLFILE, file)
            try self.set(CURLOPT_PROXY_CRLFILE, file)
        }
        if tls.requiresStatus { try self.set(CURLOPT_SSL_VERIFYSTATUS, 1) }
        if tls.isInsecure {
            try self.set(CURLOPT_SSL_VERIFYPEER, 0)
            try self.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if tls.versions != TLSOptions().versions {
            let (lowest, highest) = (tls.versions.lowerBound.curlVersion, tls.versions.upperBound.curlVersion)
            try self.set(CURLOPT_SSLVERSION, Int(lowest | highest << 16))
        }
        // The hook may accept a certificate for another name; without a decision of the hook, mayTrust(_:) compares the
        // names.
        if !tls.verifiesName || tls.evaluator != nil { try self.set(CURLOPT_SSL_VERIFYHOST, 0) }
        // Connections that a hook accepted are only shared with requests that have a hook: a flag that OpenSSL ignores
        // separates them.
        if tls.evaluator != nil { try self.set(CURLOPT_SSL_OPTIONS, Int(CURLSSLOPT_AUTO_CLIENT_CERT)) }
        try self.setClientCertificate(tls)
    }

    private func setAuthorities(_ tls: TLSOptions) throws(CurlError) {
        if let text = tls.inline.authorities {
            try self.set(CURLOPT_CAINFO_BLOB, blob: text)
            try self.set(CURLOPT_PROXY_CAINFO_BLOB, blob: text)
        } else if let file = tls.caFile {
            try self.set(CURLOPT_CAINFO, file)
            try self.set(CURLOPT_PROXY_CAINFO, file)
        } else {
            return
        }
        // Otherwise the system's certificate directory would also be trusted.
        try self.set(CURLOPT_CAPATH, pointer: nil)
        try self.set(CURLOPT_PROXY_CAPATH, pointer: nil)
    }

    private func setClientCertificate(_ tls: TLSOptions) throws(CurlError) {
        if let text = tls.inline.certificate {
            try self.set(CURLOPT_SSLCERT_BLOB, blob: text)
        } else if let certificate = tls.clientCertificate {
            try self.set(CURLOPT_SSLCERT, certificate)
        } else {
            return
        }
        if let text = tls.inline.key ?? (tls.clientKey == nil ? tls.inline.certificate : nil) {
            try self.set(CURLOPT_SSLKEY_BLOB, blob: text)
        } else if let file = tls.clientKey ?? tls.clientCertificate {
            try self.set(CURLOPT_SSLKEY, file)
        }
        // Without a passphrase, libcrypto would prompt for that of an encrypted key on the terminal.
        try self.set(CURLOPT_KEYPASSWD, "")
    }

    func setRequest(_ request: Indirect<AttemptRequest>, context: UnsafeMutableRawPointer) throws(CurlError) {
        switch (request.value.method, request.value.body) {
        case ("GET", .none): break
        case ("HEAD", .none): try self.set(CURLOPT_NOBODY, 1)
        // Without a body these methods still send `Content-Length: 0`.
        case (let method, .none) where methodsWithBody.contains(method):
            try self.setUpload(method, 0, context)
        case (let method, .none): try self.set(CURLOPT_CUSTOMREQUEST, method)
        case (let method, .bytes(let bytes)): try self.setUpload(method, Int64(bytes.count), context)
        case (let method, .file(_, let length)): try self.setUpload(method, length, context)
        // -1 makes libcurl send chunks.
        case (let method, .stream(_, let length)): try self.setUpload(method, length ?? -1, context)
        }
        if let credentials = request.value.credentials {
            try self.set(CURLOPT_USERNAME, credentials.user)
            try self.set(CURLOPT_PASSWORD, credentials.password)
        }
        if request.value.proxy != nil, let agent = request.value.userAgent { try self.set(CURLOPT_USERAGENT, agent) }
        if request.value.acceptsCompression, CurlLibrary.decodesOnDemand {
            try self.set(CURLOPT_ACCEPT_ENCODING, CurlLibrary.codings)
        }
        // Not CURLOPT_RESUME_FROM: with that option a changed file ends the transfer instead of delivering the new one.
        if let resume = request.value.resume { try self.set(CURLOPT_RANGE, "\(resume.offset)-") }
    }

    // Every method with a body is sent as an upload under its own name.
    private func setUpload(_ method: String, _ length: Int64, _ context: UnsafeMutableRawPointer) throws(CurlError) {
        try self.set(CURLOPT_UPLOAD, 1)
        try self.set(CURLOPT_CUSTOMREQUEST, method)
        try self.set(CURLOPT_INFILESIZE_LARGE, offset: length)
        // Each piece costs a turn of the loop.
        try self.set(CURLOPT_UPLOAD_BUFFERSIZE, (length < 1 << 20 ? 1 : 4) * CurlLimits.sendBuffer)
        try CurlError.check(tg_easy_set_read(self.raw, readBody), "CURLOPT_READFUNCTION")
        try CurlError.check(tg_easy_set_seek(self.raw, seekBody), "CURLOPT_SEEKFUNCTION")
        try self.set(CURLOPT_READDATA, pointer: context)
        try self.set(CURLOPT_SEEKDATA, pointer: context)
    }
}

extension TLSVersion {
    fileprivate var curlVersion: Int {
        switch self {
        case .v1_0: Int(CURL_SSLVERSION_TLSv1_0)
        case .v1_1: Int(CURL_SSLVERSION_TLSv1_1)
        case .v1_2: Int(CURL_SSLVERSION_TLSv1_2)
        case .v1_3: Int(CURL_SSLVERSION_TLSv1_3)
        }
    }
}

private let methodsWithBody: Set = ["POST", "PUT", "PATCH"]

extension Indirect<AttemptRequest> {
    /// How many milliseconds one of several addresses of a family has to answer; nil if time is not limited.
    ///
    /// libcurl gives each address half of the remaining time, and the last of many almost none. Here the last one gets
    /// a double share, so that the kernel always gives up before libcurl. The kernel checks after one second at the
    /// earliest.
    func connectShare(of address: IPAddress?) -> Int32? {
        let equals = self.value.addresses.filter { $0.family == address?.family }
        guard equals.count > 1, address != equals.last else { return nil }
        return Int32(clamping: max(1, self.value.connectTimeout.wholeNanoseconds / 1_000_000 / Int64(equals.count + 1)))
    }

    /// The zone of the link-local address to connect to; nil for any other host.
    var zone: UInt32? {
        guard let address = (self.value.proxy?.target ?? self.value.connectsTo ?? self.value.url.target).address,
            address.zone != 0
        else { return nil }
        return address.zone
    }

    // The scheme decides whether libcurl continues from the connection to the handshake.
    var requestedURL: String {
        switch self.value.lastStage {
        case .resolve, .connect: HTTPURL(scheme: .http, target: self.value.url.target).text
        case .tls: HTTPURL(scheme: .https, target: self.value.url.target).text
        case .request, .response, .body: self.value.url.text
        }
    }

    var usesTLS: Bool {
        switch self.value.lastStage {
        case .resolve, .connect: false
        case .tls: true
        case .request, .response, .body: self.value.url.scheme == .https
        }
    }

    var staysInMemory: Bool {
        if case .memory = self.value.sink { true } else { false }
    }

    var isUpload: Bool { !self.value.body.isNone || methodsWithBody.contains(self.value.method) }
}
