internal import Glibc
internal import Synchronization
package import TidegateCore
internal import TidegateLoop

/// Sends ICMP echo requests, as ping(8) does, each by a socket of its own.
///
/// One thread, `tg-echo`, waits for all answers; it starts with the first request.
package final class EchoClient: Sendable {
    /// One echo request.
    package struct Request: Sendable {
        /// Who is asked.
        package var address: IPAddress
        /// What the reply has to bring back.
        package var payload: [UInt8]
        /// How long a reply is waited for.
        package var limit: Duration
        /// The address of this host that it is sent from; nil leaves that to the kernel.
        package var source: IPAddress?
        /// The only interface that it may leave by.
        package var interface: String?
        /// How many routers it may pass; nil for this host's usual number.
        package var hopLimit: Int?
        /// Whether an IPv4 packet must stay whole.
        package var forbidsFragments = false

        /// A request that the kernel sends as it likes.
        package init(to address: IPAddress, payload: [UInt8], within limit: Duration) {
            self.address = address
            self.payload = payload
            self.limit = limit
        }
    }

    /// What came back.
    package enum Result: Sendable, Hashable {
        /// The reply, and how many routers it could still have passed.
        case answered(hopLimit: Int?, after: Duration)
        /// Somebody on the way, or this host, refused it.
        case refused(ICMPError)
        /// The packet is longer than a link takes: a router's, or this host's own if `router` is nil.
        case tooLong(mtu: Int?, router: IPAddress?)
        /// Nothing came back in time.
        case silent
        /// This host could not send it.
        case failed(Failure)
    }

    /// Why this host could not send a request.
    package enum Failure: Error, Hashable {
        /// The group is not within `net.ipv4.ping_group_range`, and the process lacks CAP_NET_RAW.
        case notPermitted
        /// A step of it failed (errno(3)).
        case failed(operation: String, code: Int32)
    }

    /// A result, and what there was before it.
    package struct Outcome: Sendable, Hashable {
        package var result: Result
        /// How long the socket took to open.
        package var setup: Duration
        /// The address that was sent from; nil if there was none.
        package var local: IPAddress?
    }

    private let onThreadStart: @Sendable () -> Void
    private let thread = Mutex<LoopThread<EchoLoop>?>(nil)

    /// A client without a thread yet; `onThreadStart` runs on it first, so that tests can enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) { self.onThreadStart = onThreadStart }

    deinit { self.stop() }

    /// Sends a request and waits for what comes back.
    ///
    /// At most 1024 requests are under way at a time; further ones fail with `ENOBUFS` at once.
    package func send(_ request: Request) async -> Outcome {
        await withCheckedContinuation { waiter in
            let command = EchoLoop.Command(request: request) { waiter.resume(returning: $0) }
            guard let thread = self.runningThread(), thread.send(command) else {
                return command.completion(.failed("thread", ENOBUFS))
            }
        }
    }

    private func runningThread() -> LoopThread<EchoLoop>? {
        let onThreadStart = self.onThreadStart
        return self.thread.withLock { thread in
            if thread == nil {
                thread = try? LoopThread(name: "tg-echo") { loop in
                    onThreadStart()
                    return EchoLoop(loop: loop)
                }
            }
            return thread
        }
    }

    /// Ends the requests under way as silent, then the thread.
    package func stop() { self.thread.withLock { $0.take() }?.stop() }
}

extension EchoClient.Outcome {
    fileprivate static func failed(_ operation: String, _ code: Int32) -> EchoClient.Outcome {
        EchoClient.Outcome(result: .failed(.failed(operation: operation, code: code)), setup: .zero)
    }
}

private final class EchoLoop: LoopHandler {
    struct Command: Sendable {
        let request: EchoClient.Request
        let completion: @Sendable (EchoClient.Outcome) -> Void
    }

    private struct Pending {
        let command: Command
        let socket: EchoSocket
        let setup: Duration
        let sent: MonotonicTime
        let timer: TimerID
    }

    private static let openLimit = 1024

    private let loop: Loop
    private var pending: [Int32: Pending] = [:]
    private var generator = SystemRandomNumberGenerator()
    // As long as any packet, so that none is cut.
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    init(loop: Loop) { self.loop = loop }

    func receive(_ command: Command) {
        guard self.pending.count < Self.openLimit else { return command.completion(.failed("socket", ENOBUFS)) }
        let start = self.loop.clock.monotonic()
        let numbers = (
            UInt16.random(in: .min ... .max, using: &self.generator),
            UInt16.random(in: .min ... .max, using: &self.generator)
        )
        let socket: EchoSocket
        do throws(EchoClient.Failure) {
            socket = try EchoSocket(command.request, numbers: numbers)
        } catch {
            let setup = self.loop.clock.monotonic() - start
            return command.completion(EchoClient.Outcome(result: .failed(error), setup: setup))
        }
        do throws(LoopError) {
            try self.loop.watch(socket.descriptor, for: .read)
        } catch {
            socket.close()
            return command.completion(.failed(error.operation, error.code))
        }
        let sent = self.loop.clock.monotonic()
        let token = UInt64(UInt32(bitPattern: socket.descriptor))
        self.pending[socket.descriptor] = Pending(
            command: command, socket: socket, setup: sent - start, sent: sent,
            timer: self.loop.schedule(after: command.request.limit, token: token))
        if let result = socket.send() { self.finish(socket.descriptor, result) }
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        guard let echo = self.pending[descriptor] else { return }
        let clock = self.loop.clock
        guard let result = echo.socket.receive(into: &self.buffer, after: { clock.monotonic() - echo.sent }) else {
            return
        }
        self.finish(descriptor, result)
    }

    func timerFired(_ token: UInt64) { self.finish(Int32(truncatingIfNeeded: token), .silent) }

    func stopping() {
        for descriptor in Array(self.pending.keys) { self.finish(descriptor, .silent) }
    }

    private func finish(_ descriptor: Int32, _ result: EchoClient.Result) {
        guard let echo = self.pending.removeValue(forKey: descriptor) else { return }
        self.loop.cancel(echo.timer)
        let local = echo.socket.local
        // Closing the descriptor ends the watch anyway, so a failure to end it first does not matter.
        try? self.loop.unwatch(descriptor)
        echo.socket.close()
        echo.command.completion(EchoClient.Outcome(result: result, setup: echo.setup, local: local))
    }
}
