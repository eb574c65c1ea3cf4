internal import CLinux
internal import Glibc
package import TidegateLoop
package import TidegateCore

/// Asks whether hosts are alive, by one byte to the discard port: whoever does not listen there says so by ICMP.
///
/// Needs no privilege. A thread of its own waits for the answers.
package final class UDPProbe: Sendable {
    private let thread: LoopThread<PokerBody>

    /// UDP port 9, discard (RFC 863): nobody minds a byte there.
    static let port: UInt16 = 9

    /// Starts the thread; `onThreadStart` runs on it first, for tests to enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) throws(LoopError) {
        self.thread = try LoopThread(name: "tg-poke") { loop in
            onThreadStart()
            return PokerBody(loop: loop)
        }
    }

    /// Pokes an address and waits for at most `limit`; `completion` is called once, on the poker's thread.
    ///
    /// An address this host has no neighbour entry for is asked for first, which takes the kernel up to 3 s to give up.
    package func poke(
        _ address: IPAddress, within limit: Duration, completion: @escaping @Sendable (PokeOutcome) -> Void
    ) {
        let order = PokerBody.Order(address: address, limit: limit, completion: completion)
        if !self.thread.send(order) { completion(.failed(ESHUTDOWN)) }
    }

    /// Gives up whatever is under way and ends the thread.
    package func stop() { self.thread.stop() }
}

private final class PokerBody: LoopHandler {
    struct Order: Sendable {
        let address: IPAddress
        let limit: Duration
        let completion: @Sendable (PokeOutcome) -> Void
    }

    private struct Poke {
        let order: Order
        let timer: TimerID
    }

    private let loop: Loop
    private var pokes: [Int32: Poke] = [:]

    init(loop: Loop) { self.loop = loop }

    func receive(_ order: Order) {
        let domain = order.address.family == .ipv4 ? AF_INET : AF_INET6
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(domain, kind, 0)
        guard descriptor >= 0 else { return order.completion(.failed(errno)) }
        ErrorQueue.open(descriptor, order.address.family)
        if let code = self.send(descriptor, order.address) {
            close(descriptor)
            return order.completion(.failed(code))
        }
        do throws(LoopError) {
            try self.loop.watch(descriptor, for: .read)
        } catch {
            close(descriptor)
            return order.completion(.failed(error.code))
        }
        let timer = self.loop.schedule(after: order.limit, token: UInt64(UInt32(bitPattern: descriptor)))
        self.pokes[descriptor] = Poke(order: order, timer: timer)
    }

    // The error number; nil where the byte is on its way.
    private func send(_ descriptor: Int32, _ address: IPAddress) -> Int32? {
        let code = SocketAddress.connect(descriptor, to: address, port: UDPProbe.port)
        guard code == 0 else { return code }
        var byte: UInt8 = 0
        return Glibc.send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 ? nil : errno
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        guard let poke = self.pokes[descriptor] else { return }
        let address = poke.order.address
        if let message = ErrorQueue.drain(descriptor) {
            let local = SocketAddress.local(of: descriptor)
            return self.finish(descriptor, PokeOutcome(message, from: address, local: local))
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
        for descriptor in Array(self.pokes.keys) { self.finish(descriptor, .silent) }
    }

    private func finish(_ descriptor: Int32, _ outcome: PokeOutcome) {
        guard let poke = self.pokes.removeValue(forKey: descriptor) else { return }
        self.loop.cancel(poke.timer)
        // Closing ends the watch as well; a failure to end it before leaves nothing behind.
        try? self.loop.unwatch(descriptor)
        close(descriptor)
        poke.order.completion(outcome)
    }
}
