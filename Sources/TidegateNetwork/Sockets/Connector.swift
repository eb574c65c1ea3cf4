internal import CLinux
internal import Glibc
package import TidegateLoop
package import TidegateCore

/// Connects to TCP ports and hangs up at once; a thread of its own waits for the answers.
package final class Connector: Sendable {
    private let thread: LoopThread<ConnectorBody>

    /// Starts the thread; `onThreadStart` runs on it first, for tests to enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) throws(LoopError) {
        self.thread = try LoopThread(name: "tg-connect") { loop in
            onThreadStart()
            return ConnectorBody(loop: loop)
        }
    }

    /// Tries to connect within `limit`; `completion` is called once, on the connector's thread.
    package func connect(
        to address: IPAddress, port: UInt16, within limit: Duration,
        completion: @escaping @Sendable (ConnectOutcome) -> Void
    ) {
        let order = ConnectorBody.Order(address: address, port: port, limit: limit, completion: completion)
        if !self.thread.send(order) { completion(.failed(.monitorDown, refusal: nil)) }
    }

    /// Gives up whatever is under way and ends the thread.
    package func stop() { self.thread.stop() }
}

private final class ConnectorBody: LoopHandler {
    struct Order: Sendable {
        let address: IPAddress
        let port: UInt16
        let limit: Duration
        let completion: @Sendable (ConnectOutcome) -> Void
    }

    private struct Attempt {
        let order: Order
        let start: MonotonicTime
        let timer: TimerID
    }

    private let loop: Loop
    private var attempts: [Int32: Attempt] = [:]

    init(loop: Loop) { self.loop = loop }

    func receive(_ order: Order) {
        let domain = order.address.family == .ipv4 ? AF_INET : AF_INET6
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(domain, kind, 0)
        guard descriptor >= 0 else {
            return order.completion(.failed(UnreachableReason(connectErrno: errno), refusal: nil))
        }
        ErrorQueue.open(descriptor, order.address.family)
        let code = SocketAddress.connect(descriptor, to: order.address, port: order.port)
        guard code == 0 || code == EINPROGRESS else {
            close(descriptor)
            return order.completion(.failed(UnreachableReason(connectErrno: code), refusal: nil))
        }
        do throws(LoopError) {
            try self.loop.watch(descriptor, for: .write)
        } catch {
            close(descriptor)
            return order.completion(.failed(.monitorDown, refusal: nil))
        }
        let timer = self.loop.schedule(after: order.limit, token: UInt64(UInt32(bitPattern: descriptor)))
        self.attempts[descriptor] = Attempt(order: order, start: self.loop.now, timer: timer)
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        guard let attempt = self.attempts[descriptor] else { return }
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let isAsked = getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0
        guard isAsked, code == 0 else {
            let refusal = ErrorQueue.drain(descriptor)?.refusal
            return self.finish(descriptor, .failed(UnreachableReason(connectErrno: code), refusal: refusal))
        }
        self.finish(descriptor, .connected(self.loop.now - attempt.start))
    }

    func timerFired(_ token: UInt64) {
        self.finish(Int32(truncatingIfNeeded: token), .failed(.timeout, refusal: nil))
    }

    func stopping() {
        for descriptor in Array(self.attempts.keys) { self.finish(descriptor, .failed(.timeout, refusal: nil)) }
    }

    private func finish(_ descriptor: Int32, _ outcome: ConnectOutcome) {
        guard let attempt = self.attempts.removeValue(forKey: descriptor) else { return }
        self.loop.cancel(attempt.timer)
        // Closing ends the watch as well; a failure to end it before leaves nothing behind.
        try? self.loop.unwatch(descriptor)
        close(descriptor)
        attempt.order.completion(outcome)
    }
}
