internal import CLinux
internal import Glibc
package import TidegateLoop
package import TidegateCore

/// Finds out whether hosts are alive by sending one byte to the discard port: a live host without a listener there
/// answers with an ICMP error.
///
/// It needs no privileges. A dedicated thread waits for the answers.
package final class UDPProbe: Sendable {
    /// The result of a probe.
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

        /// The result that a message of the socket's error queue shows for `address`; `local` is the source address.
        init(_ message: ExtendedSocketError, from address: IPAddress, local: IPAddress?) {
            let refusal = message.refusal
            if refusal.isFrom(address) {
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

    /// UDP port 9, discard (RFC 863): a byte sent there has no effect on any service.
    static let port: UInt16 = 9

    private let thread: LoopThread<ExchangeLoop<UDPProbeExchange>>

    /// Starts the thread; `onThreadStart` runs on it first, so that tests can enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) throws(LoopError) {
        self.thread = try LoopThread(name: "tg-udp-probe") { loop in
            onThreadStart()
            return ExchangeLoop(loop: loop)
        }
    }

    /// Probes an address and waits for at most `limit`; `completion` is called once, on the probe's thread.
    ///
    /// Without a neighbour entry the kernel resolves the address first, which takes up to 3 s to fail.
    package func probe(
        _ address: IPAddress, within limit: Duration, completion: @escaping @Sendable (Result) -> Void
    ) {
        let request = SocketRequest(to: address, port: UDPProbe.port, within: limit)
        let command = ExchangeLoop.Command(exchange: UDPProbeExchange(request: request), completion: completion)
        if !self.thread.send(command) { command.end(LoopError(operation: "thread", code: ESHUTDOWN)) }
    }

    /// Ends every open probe as silent, then the thread.
    func stop() { self.thread.stop() }
}

private struct UDPProbeExchange: SocketExchange {
    static let bufferSize = 1

    let request: SocketRequest

    func timeToWait(at _: MonotonicTime) -> Duration { self.request.limit }

    func open(at _: MonotonicTime) throws(LoopError) -> Int32 { try self.request.open(SOCK_DGRAM, sending: [0]) }

    func ready(
        _ descriptor: Int32, into buffer: inout [UInt8], at _: MonotonicTime
    ) -> ExchangeStep<UDPProbe.Result> {
        if let message = ErrorQueue.drain(descriptor) {
            let local = SocketAddress.local(of: descriptor)
            return .over(UDPProbe.Result(message, from: self.request.address, local: local))
        }
        let count = recv(descriptor, &buffer, buffer.count, 0)
        switch count >= 0 ? 0 : errno {
        case 0, ECONNREFUSED: return .over(.answered)
        case EAGAIN, EINTR: return .wait
        case EHOSTUNREACH: return .over(.unresolved(nil))
        case let code: return .over(.failed(code))
        }
    }

    func outcome(of failure: LoopError?) -> UDPProbe.Result { failure.map { .failed($0.code) } ?? .silent }
}
