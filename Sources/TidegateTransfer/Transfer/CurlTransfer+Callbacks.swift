internal import CCurl
internal import CLinux
internal import COpenSSL
internal import Glibc
internal import TidegateCore
internal import TidegateLoop

// libcurl calls everything here while the engine is inside one of its functions. The callbacks only append to the
// transfer, except for trust, which calls the app's hook. The transfer is unretained: the engine's pool keeps it alive
// for longer than libcurl refers to it.

/// Calls `body` with the object behind a callback's pointer; without a pointer the result is `fallback`.
@inline(__always)
func withObject<Object: AnyObject, Result>(
    _ type: Object.Type, at pointer: UnsafeMutableRawPointer?, else fallback: @autoclosure () -> Result,
    _ body: (Object) -> Result
) -> Result {
    guard let pointer else { return fallback() }
    // Without retain and release: libcurl calls this for every socket change.
    return Unmanaged<Object>.fromOpaque(pointer)._withUnsafeGuaranteedRef { body($0) }
}

func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    withObject(CurlTransfer.self, at: context, else: 0) {
        $0.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
}

func writeBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    withObject(CurlTransfer.self, at: context, else: 0) {
        $0.writeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
}

func readBody(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    withObject(CurlTransfer.self, at: context, else: Int(CURL_READFUNC_ABORT)) {
        $0.readBody(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
    }
}

func logWire(
    _ easy: UnsafeMutableRawPointer?, _ type: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    let kind: WireLog.Kind
    switch type {
    case CURLINFO_TEXT: kind = .note
    case CURLINFO_HEADER_OUT: kind = .sent
    case CURLINFO_HEADER_IN: kind = .received
    default: return 0
    }
    return withObject(CurlTransfer.self, at: context, else: 0) { transfer in
        let line = UnsafeRawBufferPointer(start: bytes, count: size)
        transfer.request?.value.wireLog?.add(kind, line)
        if kind == .note, transfer.request?.value.allowsHTTP2 == true {
            transfer.noteHTTP2(String(decoding: line, as: UTF8.self))
        }
        return 0
    }
}

func seekBody(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    guard origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
    return withObject(CurlTransfer.self, at: context, else: CURL_SEEKFUNC_CANTSEEK) {
        $0.upload.seek(to: Int64(offset), in: $0.request?.value.body) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
    }
}

func beforeSending(
    _ context: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    withObject(CurlTransfer.self, at: context, else: CURL_PREREQFUNC_ABORT) {
        $0.shouldSend(local: local, remote: remote, localPort) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
}

func openSocket(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address else { return -1 }
    return withObject(CurlTransfer.self, at: context, else: -1) {
        $0.openSocket(address.pointee, to: peerAddress(address))
    }
}

// The structure ends with room for the longest address; Swift sees only its first 16 bytes.
private func peerAddress(_ address: UnsafePointer<curl_sockaddr>) -> IPAddress? {
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    let name = UnsafeRawBufferPointer(
        start: UnsafeRawPointer(address) + offset, count: min(Int(address.pointee.addrlen), 128))
    return SocketAddress.address(in: Array(name))
}

// Connections outlive the attempt that opened them, so the context is the pool rather than a transfer.
func closeSocket(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
    withObject(ConnectionPool.self, at: context, else: close(descriptor)) { $0.close(descriptor) }
}

/// Called before each handshake: makes libssl ask us about the certificates.
func prepareTLS(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ transfer: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let context, let transfer else { return CURLE_ABORTED_BY_CALLBACK }
    SSL_CTX_set_cert_verify_callback(OpaquePointer(context), verifyCertificates, transfer)
    return CURLE_OK
}

// Called during a handshake, before any part of the request is sent.
private func verifyCertificates(_ store: OpaquePointer?, _ transfer: UnsafeMutableRawPointer?) -> Int32 {
    guard let store else { return 0 }
    return withObject(CurlTransfer.self, at: transfer, else: 0) { $0.verify(store) ? 1 : 0 }
}

extension CurlTransfer {
    // libcurl would send the request again on its own; its client must know about each request on the wire.
    fileprivate func noteHTTP2(_ line: String) {
        if self.connection.http2.note(line) { self.end(as: .reset, self.connection.http2.text ?? "") }
    }

    fileprivate func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        if self.timestamps.firstByte == nil { self.timestamps.firstByte = self.timestamps.clock.monotonic() }
        switch self.response.head.append(line) {
        case .more: return line.count
        case .tooLarge:
            self.abort(.protocolError, "the response has more than \(ResponseHeadParser.limit) bytes of header fields")
            return 0
        case .badStatus(let text):
            self.abort(
                .protocolError, "the server answered with the status \(text), which is not an HTTP status (100 to 599)")
            return 0
        case .badStatusLine(let text):
            self.abort(.protocolError, "the server's status line is malformed: \"\(text)\"")
            return 0
        case .complete: return self.headIsComplete() ? line.count : 0
        }
    }

    private func headIsComplete() -> Bool {
        guard let request = self.request else { return false }
        self.response.head.evaluate(request)
        if let (first, other) = self.response.contradictoryLengths(of: request) {
            // Nothing else in such a head can be trusted.
            self.response.head.clear()
            let text =
                "the lengths that the server announces contradict each other (Content-Length: \(first) and \(other))"
            self.abort(.protocolError, text)
            return false
        }
        self.note(.head)
        // Bytes of another protocol follow, perhaps never: the client speaks first in most.
        if self.response.head.status == 101, case .reject(let failure) = self.response.head.range {
            self.abort(failure, "")
            return false
        }
        if case .failed(let failure, let text)? = self.response.chooseDecoder(request, on: self.easy) {
            self.abort(failure, text)
            return false
        }
        switch self.response.head.range {
        case .append, .restartFromZero: break
        case .alreadyComplete, .reject: return true
        }
        if request.value.awaitsDisposition {
            self.pause.insert(.disposition)
            // The destination, and with it the limit of the length, is not known yet.
            if case .memory = request.value.sink { return true }
        }
        guard case .failed(let failure, let text)? = self.response.openSink(request) else { return true }
        self.abort(failure, text)
        return false
    }

    fileprivate func writeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let request = self.request, self.response.head.isComplete else { return 0 }
        // A call without a socket: libcurl expands a few kilobytes of Brotli to gigabytes in a single call.
        if self.pool?.isCallEnded(serving: self.number) == true {
            self.abort(.protocolError, CallWatchdog.finding)
            return 0
        }
        if self.pause.contains(.disposition) { return Int(CURL_WRITEFUNC_PAUSE) }
        if request.value.bytesPerSecondLimit != nil, self.throttle(at: self.timestamps.clock.monotonic()) != nil {
            self.pause.insert(.rate)
            self.note(.throttled)
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        self.note(.moved)
        switch self.response.write(bytes, request) {
        case .written: return bytes.count
        case .blocked:
            self.pause.insert(.sink)
            self.note(.blocked)
            return Int(CURL_WRITEFUNC_PAUSE)
        case .postponed:
            // As if a rate limit had ended.
            self.pause.insert(.rate)
            self.note(.throttled)
            return Int(CURL_WRITEFUNC_PAUSE)
        case .failed(let failure, let text):
            self.abort(failure, text)
            return 0
        }
    }

    fileprivate func readBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let body = self.request?.value.body else { return Int(CURL_READFUNC_ABORT) }
        switch self.upload.read(into: buffer, from: body) {
        case .bytes(let count):
            self.timestamps.bodyRead = self.timestamps.clock.monotonic()
            self.note(.moved)
            return count
        case .wait:
            self.pause.insert(.source)
            return Int(CURL_READFUNC_PAUSE)
        case .failed(let failure, let text):
            self.abort(failure, text)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    fileprivate func shouldSend(local: UnsafePointer<CChar>?, remote: UnsafePointer<CChar>?, _ localPort: Int32) -> Bool
    {
        guard let request = self.request else { return false }
        // libcurl would resend on its own: on a kept connection that broke, and without Expect after a 417. Its client
        // must know about each request on the wire.
        guard self.connection.starts == 0 else {
            if !self.response.head.isComplete {
                self.abort(.reset, "the server closed a kept connection after the request had been sent")
            }
            return false
        }
        guard self.mayTrust(request) else { return false }
        self.connection.isGivenUp = !self.isSilent(request, localPort)
        guard !self.connection.isGivenUp else { return false }
        self.connection.noteStart(local: local, remote: remote, localPort: localPort)
        self.timestamps.wireReached = self.timestamps.clock.monotonic()
        self.note(.wire)
        return true
    }

    // Bytes that arrive before a request never belong to its response, and libcurl 7.88 only notices the end of an idle
    // connection. With TLS the bytes may be session tickets, so libcurl handles those connections.
    private func isSilent(_ request: Indirect<AttemptRequest>, _ localPort: Int32) -> Bool {
        guard !self.connection.hasOpened, !request.usesTLS, request.value.proxy?.scheme != .https,
            let pool = self.pool
        else { return true }
        guard let descriptor = pool.ports.socket(at: UInt16(truncatingIfNeeded: localPort)) else { return false }
        return !IdleSocket.hasInput(descriptor)
    }

    fileprivate func openSocket(_ address: curl_sockaddr, to peer: IPAddress?) -> curl_socket_t {
        let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let use = self.request?.value.use ?? .task
        let descriptor = DescriptorShortage.bounded(socket(address.family, type, address.protocol), use)
        guard descriptor >= 0 else {
            let code = errno
            if DescriptorShortage.isReason(code) { self.connection.lackedDescriptor = true }
            self.connection.noteFailure(FailedConnect(address: peer, errorNumber: code, isImmediate: true))
            return -1
        }
        if let source = self.request?.value.source, case let code = source.apply(to: descriptor), code != 0 {
            // libcurl continues with the next address.
            close(descriptor)
            self.connection.noteFailure(FailedConnect(address: peer, errorNumber: code, isImmediate: true))
            return -1
        }
        let share = self.request?.connectShare(of: peer)
        var timeout = share ?? CurlLimits.userTimeout
        // If this fails, the kernel's own, longer timeout applies: slower, but not wrong.
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &timeout, socklen_t(4))
        if var size = self.request?.value.segmentSize.map({ Int32(clamping: $0) }) {
            _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, &size, socklen_t(4))
        }
        self.connection.hasOpened = true
        if self.timestamps.socketOpened == nil { self.timestamps.socketOpened = self.timestamps.clock.monotonic() }
        guard let pool = self.pool, let request = self.request else { return descriptor }
        pool.opened(descriptor)
        pool.sockets.opened(
            descriptor,
            ConnectAttempt(
                transfer: self, attempt: request.value.id, address: peer,
                deadline: self.timestamps.started + request.value.connectTimeout, cookie: tg_socket_cookie(descriptor),
                hasShare: share != nil))
        return descriptor
    }

    // MARK: - Trust

    fileprivate func verify(_ store: OpaquePointer) -> Bool {
        let isVerified = X509_verify_cert(store) == 1 && !self.lacksNames(store)
        let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()).map { OpaquePointer($0) }
        let certificates = ServerCertificates(
            store, of: ssl, verifyResult: Int(isVerified ? X509_V_OK : X509_STORE_CTX_get_error(store)))
        if let ssl { certificates.keep(with: ssl) }
        (self.connection.chains, self.connection.chainError) = (
            self.connection.chains + 1, isVerified ? nil : certificates.verifyResult
        )
        // An https proxy has a handshake of its own, which looks the same here. ``mayTrust(_:)`` checks the server's,
        // and hooks are not called behind such a proxy.
        guard let request = self.request, request.value.proxy?.scheme != .https else { return isVerified }
        // Excludes the certificates of a handshake that a server requests later.
        if self.connection.starts == 0 { self.connection.certificates = certificates }
        guard request.value.tls.evaluator != nil else { return isVerified }
        guard self.isAccepted(certificates, request) else {
            if X509_STORE_CTX_get_error(store) == X509_V_OK {
                X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
            }
            return false
        }
        X509_STORE_CTX_set_error(store, X509_V_OK)
        return true
    }

    // Whether the certificate names no host and the request needs that; libcurl would take the subject's name.
    private func lacksNames(_ store: OpaquePointer) -> Bool {
        guard let tls = self.request?.value.tls, tls.requiresNames, tls.verifiesName, !tls.isInsecure,
            let own = X509_STORE_CTX_get0_cert(store).flatMap({ X509Certificate(retaining: $0) }), !own.namesHosts
        else { return false }
        X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH)
        return true
    }

    /// Whether the request may be sent to the server of its connection.
    ///
    /// Checked before every request, because a kept connection was made for another request.
    private func mayTrust(_ request: Indirect<AttemptRequest>) -> Bool {
        // A hook has refused, but libssl continues anyway if nothing is to be verified.
        guard self.abortReason == nil else { return false }
        guard request.usesTLS, let ssl = tg_easy_get_ssl(self.easy.raw).map({ OpaquePointer($0) }) else {
            return !request.usesTLS || request.value.tls.pins.isEmpty && request.value.tls.evaluator == nil
        }
        let isReused = self.connection.certificates == nil
        guard let certificates = ServerCertificates.kept(with: ssl) else {
            self.abort(.tlsFailed, "the server of \(request.value.url.origin) showed no certificate")
            return false
        }
        self.connection.certificates = certificates
        if isReused, request.value.tls.evaluator != nil, !self.isAccepted(certificates, request) { return false }
        guard request.value.tls.pins.isEmpty || certificates.match(request.value.tls.pins) else {
            self.abort(.tlsPinMismatch, Self.mismatch(certificates, request.value.url.target))
            return false
        }
        return true
    }

    private static func mismatch(_ certificates: ServerCertificates, _ target: Target) -> String {
        let key = certificates.details.chain.first.map { "; its own key is \($0.publicKeyPin)" } ?? ""
        guard certificates.isVerified, certificates.chain.count > 1 else {
            return "the certificate of \(target.shownHost) is not pinned\(key)"
        }
        return "none of the \(certificates.chain.count) certificates of \(target.shownHost) is pinned\(key)"
    }

    // Calls the request's hook.
    private func isAccepted(_ certificates: ServerCertificates, _ request: Indirect<AttemptRequest>) -> Bool {
        guard let evaluator = request.value.tls.evaluator else { return certificates.isVerified }
        let host = request.value.url.target.host
        let problem = certificates.problem(for: host)
        switch evaluator.evaluate(certificates.trust(of: host, problem: problem)) {
        case .trusted: return true
        case .verified:
            guard let problem else { return true }
            self.abort(.tlsFailed, problem.description(of: certificates.details.chain.first, host: host))
        case .refused(let reason):
            self.abort(.tlsFailed, "the app does not trust \(request.value.url.target.shownHost): \(reason)")
        }
        return false
    }
}
