internal import CCurl
internal import CLinux
internal import Glibc
internal import TidegateCore
internal import TidegateLoop

// Everything here is called by libcurl while the engine is inside one of its functions: it appends to the transfer, and
// nothing else. The transfer is unretained; the engine's pool keeps it alive for longer than libcurl refers to it.

/// Calls `body` with the object that a callback's pointer means; without a pointer the result is `fallback`.
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
        transfer.request?.value.wireLog?.add(kind, UnsafeRawBufferPointer(start: bytes, count: size))
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

// The structure ends with the longest address there is, of which Swift sees only the first 16 bytes.
private func peerAddress(_ address: UnsafePointer<curl_sockaddr>) -> IPAddress? {
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    let name = UnsafeRawBufferPointer(
        start: UnsafeRawPointer(address) + offset, count: min(Int(address.pointee.addrlen), 128))
    return SocketName.address(in: Array(name))
}

// Connections outlive the attempt that opened them, so the context is the pool's and not a transfer.
func closeSocket(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
    withObject(ConnectionPool.self, at: context, else: close(descriptor)) { $0.close(descriptor) }
}

extension CurlTransfer {
    fileprivate func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        if self.timestamps.firstByte == nil { self.timestamps.firstByte = self.timestamps.clock.monotonic() }
        switch self.response.head.append(line) {
        case .more: return line.count
        case .tooLarge:
            self.abort(.protocolError, "the response has more than \(ResponseHeadParser.limit) bytes of header fields")
            return 0
        case .badStatus(let text):
            self.abort(
                .protocolError, "the server answered with the status \(text), which is none of HTTP (100 to 599)")
            return 0
        case .complete: return self.headIsComplete() ? line.count : 0
        }
    }

    private func headIsComplete() -> Bool {
        guard let request = self.request else { return false }
        self.response.head.evaluate(request)
        self.note(.head)
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
            // The destination, and so the limit of the length, is not known yet.
            if case .memory = request.value.sink { return true }
        }
        guard case .failed(let failure, let text)? = self.response.openSink(request) else { return true }
        self.abort(failure, text)
        return false
    }

    fileprivate func writeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let request = self.request, self.response.head.isComplete else { return 0 }
        // Without a socket: libcurl makes gigabytes of a few kilobytes of Brotli in a single call.
        if self.pool?.isCallEnded == true { return 0 }
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
            // As after a rate limit that is over.
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
        // libcurl would send it again by itself: on a kept connection that broke, and without Expect after a 417. Each
        // request on the wire is an attempt that its client knows of.
        guard self.connection.starts == 0 else {
            if !self.response.head.isComplete {
                self.abort(.reset, "the server closed a kept connection after the request had been sent")
            }
            return false
        }
        guard TrustCheck(transfer: self).mayTrust(request) else { return false }
        self.connection.isGivenUp = !self.isSilent(request, localPort)
        guard !self.connection.isGivenUp else { return false }
        self.connection.noteStart(local: local, remote: remote, localPort: localPort)
        self.timestamps.wireReached = self.timestamps.clock.monotonic()
        self.note(.wire)
        return true
    }

    // Bytes that came before a request are never its response, and of an idle connection libcurl 7.88 notices only the
    // end. With TLS they may be session tickets, so those connections are left to libcurl.
    private func isSilent(_ request: Indirect<AttemptRequest>, _ localPort: Int32) -> Bool {
        guard !self.connection.hasOpened, !request.usesTLS, request.value.proxy?.scheme != .https,
            let pool = self.pool
        else { return true }
        guard let descriptor = pool.ports.socket(at: UInt16(truncatingIfNeeded: localPort)) else { return false }
        return !IdleSocket.hasInput(descriptor)
    }

    fileprivate func openSocket(_ address: curl_sockaddr, to peer: IPAddress?) -> curl_socket_t {
        let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, address.protocol)
        guard descriptor >= 0 else {
            if DescriptorShortage.isReason(errno) { self.connection.lackedDescriptor = true }
            return -1
        }
        if let source = self.request?.value.source, case let code = source.apply(to: descriptor), code != 0 {
            // libcurl goes on to the next address.
            close(descriptor)
            self.connection.noteFailure(FailedConnect(address: peer, errorNumber: code, isImmediate: true))
            return -1
        }
        let share = self.request?.connectShare(of: peer)
        var timeout = share ?? CurlLimits.userTimeout
        // Without it the kernel's own, longer timeout holds: slower, not wrong.
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
}
