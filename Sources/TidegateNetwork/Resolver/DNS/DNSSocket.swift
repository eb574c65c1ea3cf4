internal import CLinux
internal import CNetlink
internal import Glibc
internal import TidegateCore

/// The system calls behind a question, on connected sockets that never block.
enum DNSSocket {
    enum Kind {
        case datagram, stream
    }

    enum Result {
        case done(Int)
        /// Nothing now; the descriptor will be ready again.
        case later
        case failed(DNSOutcome)
    }

    /// Opens a socket and connects it, so that the kernel accepts packets from the server only (udp(7)).
    static func open(
        _ kind: Kind, to server: IPAddress, port: UInt16, noting own: OwnSockets?
    ) -> (descriptor: Int32?, failure: DNSOutcome?) {
        let domain = server.family == .ipv4 ? AF_INET : AF_INET6
        let type = kind == .datagram ? SOCK_DGRAM : SOCK_STREAM
        let descriptor = socket(domain, Int32(type.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return (nil, self.outcome(errno, server)) }
        if kind == .stream { own?.insert(tg_socket_cookie(descriptor)) }
        ErrorQueue.open(descriptor, server.family)
        let code = SocketAddress.connect(descriptor, to: server, port: port)
        guard code == 0 || code == EINPROGRESS else {
            close(descriptor)
            return (nil, self.outcome(code, server))
        }
        return (descriptor, nil)
    }

    static func send(_ bytes: some Collection<UInt8>, on descriptor: Int32, to server: IPAddress) -> Result {
        let bytes = Array(bytes)
        let count = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        return self.result(count, on: descriptor, server)
    }

    static func receive(
        _ kind: Kind, into buffer: inout [UInt8], on descriptor: Int32, from server: IPAddress
    ) -> Result {
        // With MSG_TRUNC recv returns the full length of a datagram that is too large; a stream would discard bytes (tcp(7)).
        let flags = kind == .datagram ? Int32(MSG_TRUNC) : 0
        let count = recv(descriptor, &buffer, buffer.count, flags)
        return self.result(count, on: descriptor, server)
    }

    /// Whether a stream is connected.
    static func connected(_ descriptor: Int32, to server: IPAddress) -> Result {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else {
            return .failed(self.outcome(errno, server))
        }
        return code == 0 ? .done(0) : .failed(self.outcome(code, server, ErrorQueue.drain(descriptor)?.refusal))
    }

    static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    private static func result(_ count: Int, on descriptor: Int32, _ server: IPAddress) -> Result {
        guard count < 0 else { return .done(count) }
        let code = errno
        if code == EAGAIN || code == EINTR { return .later }
        return .failed(self.outcome(code, server, ErrorQueue.drain(descriptor)?.refusal))
    }

    private static func outcome(
        _ code: Int32, _ server: IPAddress, _ error: ICMPError? = nil
    ) -> DNSOutcome {
        switch code {
        case ECONNREFUSED, ECONNRESET:
            // A firewall on the way sends the same error as a host whose port is closed.
            guard let error, let offender = error.offender, offender.withoutZone != server.withoutZone else {
                return .refused
            }
            return .unreachable(error)
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EACCES, EPERM, EINVAL, EADDRNOTAVAIL, EAFNOSUPPORT,
            EPROTO, ENOPROTOOPT, EOPNOTSUPP, ENODEV:
            return .unreachable(error)
        case ETIMEDOUT: return .timedOut
        case EMFILE, ENFILE: return .failed(code: "EMFILE")
        case ENOBUFS, ENOMEM: return .failed(code: "ENOBUFS")
        default: return .failed(code: "errno \(code)")
        }
    }
}
