internal import CLinux
internal import CNetlink
internal import Glibc
package import TidegateLoop
package import TidegateCore

/// Finds out whether hosts are alive by sending one byte to the discard port: a live host without a listener there
/// answers with an ICMP error.
///
/// Needs no privilege. A thread of its own waits for the answers.
package final class UDPProbe: Sendable {
    /// What one probe found.
    package enum Result: Sendable, Hashable {
        /// The host is alive: it sent something back, usually an ICMP "port unreachable".
        case answered
        /// This host found no link-layer address for it (ARP, neighbour discovery).
        case unresolved(ICMPError?)
        /// Another host answered in its place: a router on the way, or a filter on this host.
        case refused(ICMPError)
        /// Nothing came back in time.
        case silent
        /// The byte could not be sent (errno(3)): no route, or a filter on this host dropped it (EPERM).
        case failed(Int32)
    }

    private let thread: LoopThread<UDPProbeLoop>

    /// UDP port 9, discard (RFC 863): a byte sent there has no effect on any service.
    static let port: UInt16 = 9

    /// Starts the thread; `onThreadStart` runs on it first, so that tests can enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) throws(LoopError) {
        self.thread = try LoopThread(name: "tg-udp-probe") { loop in
            onThreadStart()
            return UDPProbeLoop(loop: loop)
        }
    }

    /// Probes an address and waits for at most `limit`; `completion` is called once, on the probe's thread.
    ///
    /// Without a neighbour entry the kernel resolves the address first, which takes up to 3 s to fail.
    package func probe(
        _ address: IPAddress, within limit: Duration, completion: @escaping @Sendable (Result) -> Void
    ) {
        let request = UDPProbeLoop.Request(address: address, limit: limit, completion: completion)
        if !self.thread.send(request) { completion(.failed(ESHUTDOWN)) }
    }

    /// Ends every probe under way as silent, then the thread.
    package func stop() { self.thread.stop() }
}

extension UDPProbe.Result {
    /// What a message of the socket's error queue says about `address`; `local` is the address probed from.
    init(_ message: ExtendedSocketError, from address: IPAddress, local: IPAddress?) {
        let refusal = message.refusal
        if let offender = refusal.offender, offender.withoutZone == address.withoutZone {
            // Any ICMP error that the host itself sends shows that it is alive.
            self = .answered
        } else if refusal.isHostUnreachable, refusal.offender == nil || refusal.isFrom(local) {
            self = .unresolved(refusal)
        } else if message.origin == .local {
            self = .failed(message.errorNumber)
        } else {
            self = .refused(refusal)
        }
    }
}

private final class UDPProbeLoop: LoopHandler {
    struct Request: Sendable {
        let address: IPAddress
        let limit: Duration
        let completion: @Sendable (UDPProbe.Result) -> Void
    }

    private struct Pending {
        let request: Request
        let timer: TimerID
    }

    private let loop: Loop
    private var pending: [Int32: Pending] = [:]

    init(loop: Loop) { self.loop = loop }

    func receive(_ request: Request) {
        let domain = request.address.family == .ipv4 ? AF_INET : AF_INET6
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(domain, kind, 0)
        guard descriptor >= 0 else { return request.completion(.failed(errno)) }
        ErrorQueue.open(descriptor, request.address.family)
        if let code = self.send(descriptor, request.address) {
            close(descriptor)
            return request.completion(.failed(code))
        }
        do throws(LoopError) {
            try self.loop.watch(descriptor, for: .read)
        } catch {
            close(descriptor)
            return request.completion(.failed(error.code))
        }
        let timer = self.loop.schedule(after: request.limit, token: UInt64(UInt32(bitPattern: descriptor)))
        self.pending[descriptor] = Pending(request: request, timer: timer)
    }

    // The error number; nil if the byte was sent.
    private func send(_ descriptor: Int32, _ address: IPAddress) -> Int32? {
        let code = SocketAddress.connect(descriptor, to: address, port: UDPProbe.port)
        guard code == 0 else { return code }
        var byte: UInt8 = 0
        return Glibc.send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 ? nil : errno
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        guard let address = self.pending[descriptor]?.request.address else { return }
        if let message = ErrorQueue.drain(descriptor) {
            let local = SocketAddress.local(of: descriptor)
            return self.finish(descriptor, UDPProbe.Result(message, from: address, local: local))
        }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        let code = errno
        if count >= 0 || code == ECONNREFUSED { return self.finish(descriptor, .answered) }
        guard code != EAGAIN, code != EINTR else { return }
        self.finish(descriptor, code == EHOSTUNREACH ? .unresolved(nil) : .failed(code))
    }

    func timerFired(_ token: UInt64) { self.finish(Int32(truncatingIfNeeded: token), .silent) }

    func stopping() {
        for descriptor in Array(self.pending.keys) { self.finish(descriptor, .silent) }
    }

    private func finish(_ descriptor: Int32, _ result: UDPProbe.Result) {
        guard let probe = self.pending.removeValue(forKey: descriptor) else { return }
        self.loop.cancel(probe.timer)
        // Closing the descriptor ends the watch anyway, so a failure to end it first does not matter.
        try? self.loop.unwatch(descriptor)
        close(descriptor)
        probe.request.completion(result)
    }
}
