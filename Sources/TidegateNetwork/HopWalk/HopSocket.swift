internal import CLinux
internal import Glibc
internal import TidegateCore
internal import TidegateLoop

/// A socket whose packet may pass so many routers and no more.
final class HopSocket {
    /// The socket could not be made, or its packet not be sent (errno(3)).
    struct Failure: Error {
        var code: Int32
    }

    let descriptor: Int32
    var sentAt = MonotonicTime(nanoseconds: 0)
    private let transport: HopWalkMachine.Transport
    private let destination: IPAddress

    /// Sends the packet; a socket of TCP is noted in `own`.
    init(
        _ transport: HopWalkMachine.Transport, to address: IPAddress, port: UInt16, hopLimit: Int,
        noting own: OwnSockets?
    ) throws(Failure) {
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        let kind = transport == .tcp ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue
        self.descriptor = socket(family, Int32(kind | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.transport = transport
        self.destination = address
        guard self.descriptor >= 0 else { throw Failure(code: errno) }
        if transport == .tcp { own?.insert(tg_socket_cookie(self.descriptor)) }
        if let code = self.send(to: address, port, family, hopLimit) {
            self.close()
            throw Failure(code: code)
        }
    }

    // The error number; nil if the packet was sent.
    private func send(to address: IPAddress, _ port: UInt16, _ family: Int32, _ hopLimit: Int) -> Int32? {
        ErrorQueue.open(self.descriptor, address.family)
        let refused = tg_set_hop_limit(self.descriptor, family, Int32(hopLimit))
        guard refused == 0 else { return refused }
        if self.transport == .tcp {
            // A connection that succeeds is reset when it is closed: the server need not wait for a request, and
            // nothing of it stays behind on this host.
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }
        let code = SocketAddress.connect(self.descriptor, to: address, port: port)
        guard self.transport == .udp, code == 0 else { return [0, EINPROGRESS].contains(code) ? nil : code }
        var byte: UInt8 = 0
        return Glibc.send(self.descriptor, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 ? nil : errno
    }

    /// What the packet brought back; nil if nothing yet.
    func outcome(_ events: Loop.Interest, at now: MonotonicTime) -> HopWalkResult.Outcome? {
        let duration = now - self.sentAt
        if let message = ErrorQueue.drain(self.descriptor) { return self.outcome(message, duration) }
        let code = self.transport == .tcp ? self.pendingError : self.received
        switch code {
        case 0 where self.transport == .udp: return .reached(.datagram, after: duration)
        case 0: return events.contains(.write) ? .reached(.connected, after: duration) : nil
        case ECONNREFUSED: return .reached(.refused, after: duration)
        case EAGAIN, EINTR: return nil
        default: return .failed(code)
        }
    }

    private func outcome(_ message: ExtendedSocketError, _ duration: Duration) -> HopWalkResult.Outcome {
        let error = message.refusal
        if error.isFrom(self.destination) { return .reached(.unreachable(error), after: duration) }
        guard let router = error.offender, !error.isFrom(SocketAddress.local(of: self.descriptor)) else {
            return .failed(message.errorNumber)
        }
        return .answered(error, by: router, after: duration)
    }

    // SO_ERROR; 0 if there is none.
    private var pendingError: Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(self.descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
    }

    // 0 if a packet was received, otherwise the error number.
    private var received: Int32 {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, 0) >= 0 ? 0 : errno
    }

    func close() { _ = Glibc.close(self.descriptor) }
}
