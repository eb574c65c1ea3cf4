internal import CLinux
internal import Glibc
internal import TidegateCore
internal import TidegateLoop

/// A socket whose packet may pass so many routers and no more.
struct HopSocket {
    let descriptor: Int32
    let sentAt: MonotonicTime
    private let transport: HopWalkMachine.Transport
    private let destination: IPAddress

    /// Sends the packet; a socket of TCP is noted in `own`.
    init(
        _ probe: HopWalkMachine.Probe, to request: SocketRequest, at now: MonotonicTime, noting own: OwnSockets?
    ) throws(SocketFailure) {
        let isTCP = probe.transport == .tcp
        self.descriptor = try request.open(isTCP ? SOCK_STREAM : SOCK_DGRAM, sending: isTCP ? [] : [0], noting: own) {
            descriptor throws(SocketFailure) in
            let domain = request.address.family.domain
            try SocketFailure.check("ttl", tg_set_hop_limit(descriptor, domain, Int32(probe.limit)))
            guard isTCP else { return }
            // A connection that succeeds is reset when it is closed: the server need not wait for a request, and
            // nothing of it stays behind on this host.
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }
        (self.sentAt, self.transport, self.destination) = (now, probe.transport, request.address)
    }

    /// What the packet brought back; nil if nothing yet.
    func outcome(_ events: Loop.Interest, at now: MonotonicTime) -> HopWalkResult.Outcome? {
        let duration = now - self.sentAt
        if let message = ErrorQueue.drain(self.descriptor) { return self.outcome(message, duration) }
        switch self.transport == .tcp ? SocketAddress.pendingError(of: self.descriptor) : self.received {
        case 0 where self.transport == .udp: return .reached(.datagram, after: duration)
        case 0: return events.contains(.write) ? .reached(.connected, after: duration) : nil
        case ECONNREFUSED: return .reached(.refused, after: duration)
        case EAGAIN, EINTR: return nil
        case let code: return .failed(code)
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

    // 0 if a packet was received, otherwise the error number.
    private var received: Int32 {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, 0) >= 0 ? 0 : errno
    }
}
