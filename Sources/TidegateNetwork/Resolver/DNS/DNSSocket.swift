internal import CLinux
internal import Glibc
internal import TidegateCore

/// The system calls behind a question: connected sockets that never block.
enum DNSSocket {
    /// How packets travel.
    enum Kind {
        case datagram, stream
    }

    /// What a call came to.
    enum Result {
        case done(Int)
        /// Nothing now; the descriptor will be ready again.
        case later
        case failed(DNSOutcome)
    }

    /// Opens a socket and connects it, so that the kernel lets nobody but the server answer (udp(7)).
    static func open(
        _ kind: Kind, to server: IPAddress, port: UInt16
    ) -> (descriptor: Int32?, failure: DNSOutcome?) {
        let domain = server.family == .ipv4 ? AF_INET : AF_INET6
        let type = kind == .datagram ? SOCK_DGRAM : SOCK_STREAM
        let descriptor = socket(domain, Int32(type.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return (nil, self.outcome(errno, server)) }
        // A kernel that keeps no errors for this socket has only less to tell.
        _ = tg_receive_errors(descriptor, domain, 1)
        let code = self.connect(descriptor, to: server, port: port)
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
        // With MSG_TRUNC a datagram that is too large tells its true length; a stream would lose its bytes (tcp(7)).
        let flags = kind == .datagram ? Int32(MSG_TRUNC) : 0
        let count = recv(descriptor, &buffer, buffer.count, flags)
        return self.result(count, on: descriptor, server)
    }

    /// Whether a stream has come to stand.
    static func connected(_ descriptor: Int32, to server: IPAddress) -> Result {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else {
            return .failed(self.outcome(errno, server))
        }
        return code == 0 ? .done(0) : .failed(self.outcome(code, server, self.lastError(of: descriptor)))
    }

    static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    private static func result(_ count: Int, on descriptor: Int32, _ server: IPAddress) -> Result {
        guard count < 0 else { return .done(count) }
        let code = errno
        if code == EAGAIN || code == EINTR { return .later }
        return .failed(self.outcome(code, server, self.lastError(of: descriptor)))
    }

    // Bounded where somebody sends errors faster than they are read.
    private static func lastError(of descriptor: Int32) -> ICMPError? {
        var control = [UInt8](repeating: 0, count: 256)
        var last: ICMPError?
        for _ in 0..<16 {
            let count = tg_take_error(descriptor, &control, control.count)
            guard count >= 0 else { break }
            last = ExtendedSocketError(control: Array(control.prefix(count)))?.refusal ?? last
        }
        return last
    }

    private static func outcome(
        _ code: Int32, _ server: IPAddress, _ refusal: ICMPError? = nil
    ) -> DNSOutcome {
        switch code {
        case ECONNREFUSED, ECONNRESET:
            // A firewall on the way says the same as a host where nothing listens.
            guard let refusal, let offender = refusal.offender, offender.withoutZone != server.withoutZone else {
                return .refused
            }
            return .unreachable(refusal)
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EACCES, EPERM, EINVAL, EADDRNOTAVAIL, EAFNOSUPPORT,
            EPROTO, ENOPROTOOPT, EOPNOTSUPP, ENODEV:
            return .unreachable(refusal)
        case ETIMEDOUT: return .timedOut
        case EMFILE, ENFILE: return .failed(code: "EMFILE")
        case ENOBUFS, ENOMEM: return .failed(code: "ENOBUFS")
        default: return .failed(code: "errno \(code)")
        }
    }

    private static func connect(_ descriptor: Int32, to server: IPAddress, port: UInt16) -> Int32 {
        switch server.family {
        case .ipv4:
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &target.sin_addr) { $0.copyBytes(from: server.octets) }
            return self.connect(descriptor, &target)
        case .ipv6:
            var target = sockaddr_in6()
            target.sin6_family = sa_family_t(AF_INET6)
            target.sin6_port = port.bigEndian
            target.sin6_scope_id = server.zone
            withUnsafeMutableBytes(of: &target.sin6_addr) { $0.copyBytes(from: server.octets) }
            return self.connect(descriptor, &target)
        }
    }

    private static func connect<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, size) == 0 ? 0 : errno
            }
        }
    }
}
