internal import CCurl
internal import CLinux
internal import Glibc
internal import TidegateLoop
internal import TidegateCore

// Everything here is called by libcurl while the engine is inside one of its functions: it appends to the slot, and
// nothing else. The slot is unretained; the engine's table keeps it alive for longer than libcurl knows of it.

func takeHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
        $0.header(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
}

func takeBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
        $0.body(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
}

func giveBody(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return Int(CURL_READFUNC_ABORT) }
    return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
        $0.give(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
    }
}

func seekBody(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    guard let context, origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
    return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
        $0.upload.seek(to: Int64(offset), in: $0.request?.body) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
    }
}

func aboutToSend(
    _ context: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    guard let context else { return CURL_PREREQFUNC_ABORT }
    return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
        $0.mayGoOut(local: local, remote: remote, localPort) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
}

func openSocket(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context, let address else { return -1 }
    return Unmanaged<CurlTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
        $0.openSocket(address.pointee, to: dialledAddress(address))
    }
}

// The structure ends with the longest address there is, of which Swift sees the first 16 bytes alone.
private func dialledAddress(_ address: UnsafePointer<curl_sockaddr>) -> IPAddress? {
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    let name = UnsafeRawBufferPointer(
        start: UnsafeRawPointer(address) + offset, count: min(Int(address.pointee.addrlen), 128))
    return SocketName.address(in: Array(name))
}

// Connections outlive the attempt that opened them, so the epoch's log is told and not a slot.
func closeSocket(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
    if let context {
        Unmanaged<CurlCallbackContext>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.dials.closing(descriptor)
            $0.note(.closed(descriptor))
        }
    }
    return close(descriptor)
}

extension CurlTransfer {
    fileprivate func header(_ line: UnsafeRawBufferPointer) -> Int {
        if self.stamps.firstByte == nil { self.stamps.firstByte = self.time.monotonic() }
        switch self.head.append(line) {
        case .more: return line.count
        case .tooLarge:
            self.fail(.protocolError, "the answer's head is larger than \(ResponseHeadParser.limit) bytes")
            return 0
        case .complete: return self.headIsHere() ? line.count : 0
        }
    }

    fileprivate func headIsHere() -> Bool {
        guard let request = self.request else { return false }
        self.head.judge(request)
        // libcurl asks again without Expect after a 417; the second answer is the one that counts.
        if self.head.status != 417 { self.note(.head) }
        switch self.head.range {
        case .append, .restartFromZero: break
        case .alreadyComplete, .reject: return true
        }
        if request.awaitsDisposition {
            self.pause.insert(.decision)
            // Where it goes, and so how long it may be, is not known yet.
            if case .memory = request.sink { return true }
        }
        guard case .failed(let failure, let text)? = self.sink.start(self.head, of: request) else { return true }
        self.fail(failure, text)
        return false
    }

    fileprivate func body(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let sink = self.request?.sink, self.head.isComplete else { return 0 }
        if self.pause.contains(.decision) { return Int(CURL_WRITEFUNC_PAUSE) }
        if self.request?.bytesPerSecondLimit != nil, self.throttle(at: self.time.monotonic()) != nil {
            self.pause.insert(.rate)
            self.note(.throttled)
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        self.note(.moved)
        switch self.sink.write(bytes, to: sink, self.head.range, listener: self.request?.listener) {
        case .taken: return bytes.count
        case .blocked:
            self.pause.insert(.sink)
            self.note(.blocked)
            return Int(CURL_WRITEFUNC_PAUSE)
        case .failed(let failure, let text):
            self.fail(failure, text)
            return 0
        }
    }

    fileprivate func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let body = self.request?.body else { return Int(CURL_READFUNC_ABORT) }
        switch self.upload.read(into: buffer, from: body) {
        case .bytes(let count):
            self.note(.moved)
            return count
        case .wait:
            self.pause.insert(.source)
            return Int(CURL_READFUNC_PAUSE)
        case .failed(let failure, let text):
            self.fail(failure, text)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    fileprivate func mayGoOut(local: UnsafePointer<CChar>?, remote: UnsafePointer<CChar>?, _ localPort: Int32) -> Bool {
        guard let isRepeatable = self.request?.isRepeatable else { return false }
        // After a 417 the server has refused the request unread, so that sending it again is no repetition.
        let isFirst = self.wire.tries == 0 || (self.head.isComplete && self.head.status == 417)
        guard isFirst || isRepeatable else {
            self.wire.isVetoed = true
            self.fail(.outcomeUnknown, "the connection was lost after the request had been sent")
            return false
        }
        self.wire.tries += 1
        self.wire.note(local: local, remote: remote, localPort: localPort)
        self.stamps.wireReached = self.time.monotonic()
        self.note(.wire)
        return true
    }

    fileprivate func openSocket(_ address: curl_sockaddr, to peer: IPAddress?) -> curl_socket_t {
        let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, address.protocol)
        guard descriptor >= 0 else { return -1 }
        var timeout = CurlLimits.userTimeout
        // Without it the kernel's own, longer timeout holds: slower, not wrong.
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &timeout, socklen_t(4))
        self.wire.hasOpened = true
        if self.stamps.socketOpened == nil { self.stamps.socketOpened = self.time.monotonic() }
        self.epoch?.log.note(.opened(descriptor))
        if let request = self.request {
            let dial = Dial(
                slot: self, attempt: request.id, address: peer,
                deadline: self.stamps.started + request.connectTimeout, cookie: tg_socket_cookie(descriptor))
            self.epoch?.log.dials.opened(descriptor, dial)
        }
        return descriptor
    }
}
