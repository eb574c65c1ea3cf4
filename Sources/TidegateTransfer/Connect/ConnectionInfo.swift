internal import CCurl
internal import CLinux
internal import Glibc
package import TidegateCore
internal import TidegateLoop

/// An attempt's connects, and the connection it got.
///
/// Several addresses may be tried in parallel or one after the other.
struct ConnectionInfo {
    /// How often the request was started on the wire.
    private(set) var starts = 0
    /// Whether a socket was opened for this attempt.
    var hasOpened = false
    /// Whether the kept connection was dropped before the request was sent, because data had arrived on it.
    var isGivenUp = false
    /// Whether a socket could not be opened for lack of a descriptor.
    var lackedDescriptor = false
    /// Whether a connect succeeded.
    var hasConnected = false
    /// The address of that connection.
    var connectedAddress: IPAddress?
    /// The failed connect that came furthest: it explains more than one that never left this host.
    private(set) var bestFailure: FailedConnect?
    /// The addresses that did not answer in time.
    private(set) var silentAddresses: [IPAddress] = []
    /// The local port of the connection; 0 before the request starts.
    private(set) var localPort: UInt16 = 0
    /// The certificates from the handshake; nil before it and without TLS.
    var certificates: ServerCertificates?
    /// How many chains were verified for this attempt; that of an https proxy is the first.
    var chains = 0
    /// What libssl found wrong with the last of them (X509_V_ERR_*); nil if nothing.
    var chainError: Int?
    /// The HTTP/2 errors that the server has sent.
    var http2 = HTTP2Signals()
    private var local = CachedAddress()
    private var remote = CachedAddress()

    /// Whether a connection was made or an earlier one is used.
    var isConnected: Bool { self.hasConnected || self.starts > 0 }

    /// Whether the attempt has a connection or is opening one.
    var usesConnection: Bool { self.hasOpened || self.starts > 0 }

    mutating func noteFailure(_ failure: FailedConnect) {
        if failure.isSilence, let address = failure.address, !self.silentAddresses.contains(address) {
            self.silentAddresses.append(address)
        }
        // Of several equal failures the first one counts: its address was preferred.
        if let best = self.bestFailure, best.rank >= failure.rank, best.address != failure.address { return }
        self.bestFailure = failure
    }

    /// Records that the request is about to be sent, as libcurl's prerequest callback reports.
    mutating func noteStart(local: UnsafePointer<CChar>?, remote: UnsafePointer<CChar>?, localPort: Int32) {
        self.starts += 1
        self.localPort = UInt16(truncatingIfNeeded: localPort)
        self.local.update(local)
        self.remote.update(remote)
    }

    /// The connection; nil before the request starts.
    mutating func facts() -> ConnectionFacts? {
        guard self.starts > 0 else { return nil }
        return ConnectionFacts(local: self.local.parsed(), remote: self.remote.parsed(), isReused: !self.hasOpened)
    }

    /// Resets the state for the next attempt.
    mutating func clear() {
        // Parsed addresses are kept: the next attempt usually has the same ones.
        let (local, remote) = (self.local, self.remote)
        self = ConnectionInfo()
        (self.local, self.remote) = (local, remote)
    }
}

/// The HTTP/2 errors that a server sends about a request; libcurl only logs them.
struct HTTP2Signals {
    /// The last error code (RFC 9113 section 7); nil before any.
    private(set) var code: UInt32?
    /// Whether the server says that it has not processed the request (RFC 9113 section 8.7).
    private(set) var isUnprocessed = false
    /// The request's stream; 0 before it is opened.
    private var stream: UInt32 = 0

    /// Whether the server requires HTTP/1.1 (HTTP_1_1_REQUIRED).
    var requiresHTTP1: Bool { self.code == 13 }

    /// Evaluates a line of libcurl's log; true if it means that libcurl would send the request again.
    mutating func note(_ line: String) -> Bool {
        let text = Self.text(of: line)
        if let stream = Self.stream(openedBy: text, line) {
            // Earlier lines were about the connection's earlier requests.
            self = HTTP2Signals()
            self.stream = stream
        } else if text.hasPrefix("REFUSED_STREAM")
            || text.hasPrefix("HTTP/2 stream ") && text.contains("refused by server")
        {
            (self.code, self.isUnprocessed) = (7, true)
            return true
        } else if text.hasPrefix("HTTP/2 stream ") {
            let code = Self.number(after: "(err ", in: text)
            self.code = code ?? self.code ?? 0
            // A server that requires HTTP/1.1 for a stream does not process what comes by HTTP/2.
            if code == 13 { self.isUnprocessed = true }
            return code == 13
        } else if text.hasPrefix("rec"), text.contains("eived GOAWAY, error="),
            let code = Self.number(after: "error=", in: text), let last = Self.number(after: "last_stream=", in: text)
        {
            if last < self.stream { self.isUnprocessed = true }
            // A server that answers its last requests before it closes sends NO_ERROR.
            if code != 0 || self.isUnprocessed { self.code = code }
            return self.requiresHTTP1
        }
        return false
    }

    // Without the connection and stream that libcurl 8 begins with. Header fields, which begin with a bracket, may have
    // any text.
    private static func text(of line: String) -> Substring {
        guard line.hasPrefix("[HTTP/2] [") else { return line[...] }
        let rest = line.dropFirst("[HTTP/2] [".count)
        return rest.firstRange(of: "] ").map { rest[$0.upperBound...] } ?? rest
    }

    // libcurl 7 and 8 log it differently.
    private static func stream(openedBy text: Substring, _ line: String) -> UInt32? {
        if text.hasPrefix("Using Stream ID: ") { return self.number(after: "Using Stream ID: ", in: text) }
        return text.hasPrefix("OPENED stream") ? self.number(after: "[HTTP/2] [", in: line[...]) : nil
    }

    private static func number(after mark: String, in line: Substring) -> UInt32? {
        line.firstRange(of: mark).flatMap { UInt32(line[$0.upperBound...].prefix(while: \.isNumber)) }
    }

    /// The error in one clause without a full stop; nil without one.
    var text: String? {
        guard let code = self.code else { return nil }
        return switch code {
        case 0 where self.isUnprocessed: "the server closed the HTTP/2 connection before it processed the request"
        case 0: "the server ended the HTTP/2 stream before its answer was complete (NO_ERROR)"
        case 1: "the server found a violation of the HTTP/2 protocol (PROTOCOL_ERROR)"
        case 2: "the server failed to process the request (INTERNAL_ERROR)"
        case 3: "the server received more data than its HTTP/2 window allows (FLOW_CONTROL_ERROR)"
        case 4: "the server waited in vain for the acknowledgement of its HTTP/2 settings (SETTINGS_TIMEOUT)"
        case 5: "the server received a frame for a closed HTTP/2 stream (STREAM_CLOSED)"
        case 6: "the server received an HTTP/2 frame of an invalid size (FRAME_SIZE_ERROR)"
        case 7: "the server refused the HTTP/2 stream and did not process the request (REFUSED_STREAM)"
        case 8: "the server cancelled the HTTP/2 stream (CANCEL)"
        case 9: "the server cannot decompress the HTTP/2 fields (COMPRESSION_ERROR)"
        case 10: "the server lost the connection behind the HTTP/2 stream (CONNECT_ERROR)"
        case 11: "the server limits this client, which asks too much of it (ENHANCE_YOUR_CALM)"
        case 12: "the server requires stronger TLS for HTTP/2 (INADEQUATE_SECURITY)"
        case 13: "the server requires HTTP/1.1 for this request (HTTP_1_1_REQUIRED)"
        default: "the server ended the request with the unknown HTTP/2 error \(code)"
        }
    }
}

/// An address that is parsed only when its text changes: the next attempt usually has the same one.
private struct CachedAddress {
    private var text: [CChar] = []
    private var isParsed = false
    private var address: IPAddress?

    mutating func update(_ text: UnsafePointer<CChar>?) {
        guard let text else {
            self = CachedAddress()
            return
        }
        let length = strlen(text) + 1
        if self.text.count == length, memcmp(self.text, text, length) == 0 { return }
        self.text = Array(UnsafeBufferPointer(start: text, count: length))
        self.isParsed = false
    }

    mutating func parsed() -> IPAddress? {
        if !self.isParsed {
            let bytes = self.text.dropLast().map { UInt8(bitPattern: $0) }
            self.address = IPAddress(String(decoding: bytes, as: UTF8.self))
            self.isParsed = true
        }
        return self.address
    }
}

/// The result of a failed connect.
package struct FailedConnect: Sendable, Hashable {
    /// The address that was tried.
    package var address: IPAddress?
    /// The local address; nil if the kernel had not chosen one.
    package var local: IPAddress?
    /// The error number (errno(3)); 0 if the connect was still waiting for an answer.
    package var errorNumber: Int32 = 0
    /// The ICMP error that refused the connect; nil if none did.
    package var refusal: ICMPError?
    /// Whether the kernel refused in the connect call itself.
    package var isImmediate = false
    /// How often the SYN was repeated.
    package var retransmits = 0

    /// Whether the address had enough time and nothing came back.
    var isSilence: Bool {
        self.refusal == nil && (self.errorNumber == ETIMEDOUT || (self.errorNumber == 0 && self.retransmits > 0))
    }

    /// How far the connect came: from 1 (never left this host) to 5 (answered by the other host).
    var rank: Int {
        if let refusal {
            if refusal.isFrom(self.address) { return 5 }
            return refusal.offender == nil || refusal.isFrom(self.local) ? 2 : 4
        }
        switch self.errorNumber {
        case ECONNREFUSED, ECONNRESET: return 5
        // A connect given up before its SYN was repeated had no time to be answered.
        case 0: return self.retransmits > 0 ? 3 : 2
        case ETIMEDOUT: return 3
        default: return self.isImmediate ? 1 : 2
        }
    }
}

extension SocketAddress {
    /// The local address of a socket; nil if it has none yet.
    static func localAddress(of descriptor: Int32) -> IPAddress? {
        self.name(of: descriptor).flatMap(self.address).flatMap { $0.isUnspecified ? nil : $0 }
    }

    /// The local port of a socket; nil if it has none.
    static func localPort(of descriptor: Int32) -> UInt16? {
        // The port is at the same position in the addresses of both families.
        self.name(of: descriptor).map { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }
}

extension AttemptSource {
    /// Applies the source to a new socket; 0 or the error number (errno(3)).
    func apply(to descriptor: Int32) -> Int32 {
        if let name = self.interface, case let code = tg_bind_to_device(descriptor, name), code != 0 { return code }
        guard let address = self.address else { return 0 }
        var isOn: Int32 = 1
        // Otherwise a port would be used up for all targets. If the option fails, there are only fewer ports.
        _ = setsockopt(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &isOn, socklen_t(4))
        return SocketAddress.bind(descriptor, to: address)
    }
}

/// Checks idle connections, and ends them in a way that libcurl notices.
enum IdleSocket {
    /// Whether a connection that should be silent has bytes, an error or the end of the stream waiting.
    static func hasInput(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0 || errno != EAGAIN
    }

    /// Closes the connection of a socket; from now on, reading from its descriptor returns the end of the stream.
    ///
    /// Before libcurl reuses an idle connection it peeks: 0 bytes mean a closed connection, anything else a usable one,
    /// even an error like ECONNRESET. A socket that was only shut down gets that error when its peer sends more.
    /// Another socket, whose peer is gone, therefore replaces it. The descriptor stays open and belongs to libcurl.
    static func end(_ descriptor: Int32) {
        // Without a descriptor for the other socket, the kernel at least resets what arrives from now on.
        shutdown(descriptor, Int32(SHUT_RDWR))
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return self.discardReceived(descriptor) }
        close(ends[1])
        // A failure leaves nothing to do: the connection is shut down.
        _ = dup3(ends[0], descriptor, O_CLOEXEC)
        close(ends[0])
    }

    // With MSG_TRUNC TCP drops the bytes without copying them (tcp(7)); a receive buffer holds fewer than this.
    private static func discardReceived(_ descriptor: Int32) {
        while recv(descriptor, nil, 64 << 20, Int32(MSG_TRUNC | MSG_DONTWAIT)) > 0 {}
    }
}

/// The open sockets of a pool by local port: before a request libcurl passes only its local port, and its socket later.
struct LocalPorts {
    private var sockets: [(descriptor: Int32, port: UInt16)] = []
    /// Sockets with a known local port that no other socket uses.
    private var byPort: [UInt64: Int32] = [:]
    private var hasUnnamed = false

    /// Records an opened socket.
    mutating func opened(_ descriptor: Int32) {
        // libcurl may have closed an earlier socket with this descriptor without a callback.
        self.closed(descriptor)
        self.sockets.append((descriptor, 0))
        self.hasUnnamed = true
    }

    /// Records a closed socket.
    mutating func closed(_ descriptor: Int32) {
        guard let index = self.sockets.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        self.index(self.sockets.remove(at: index).port)
    }

    /// The socket with a local port; nil if it is unknown, or if several sockets to different hosts share the port.
    mutating func socket(at port: UInt16) -> Int32? {
        if self.hasUnnamed { self.name() }
        return self.byPort[UInt64(port)]
    }

    // A socket has no port before its connect, and keeps its port afterwards.
    private mutating func name() {
        self.hasUnnamed = false
        for index in self.sockets.indices where self.sockets[index].port == 0 {
            guard let port = SocketAddress.localPort(of: self.sockets[index].descriptor), port != 0 else {
                self.hasUnnamed = true
                continue
            }
            self.sockets[index].port = port
            self.index(port)
        }
    }

    private mutating func index(_ port: UInt16) {
        guard port != 0 else { return }
        let equals = self.sockets.filter { $0.port == port }
        self.byPort[UInt64(port)] = equals.count == 1 ? equals[0].descriptor : nil
    }
}
