internal import CLinux
internal import Glibc
internal import Synchronization
package import TidegateCore
internal import TidegateLoop

/// Sends datagrams over UDP and waits for an answer to each, by a socket of its own.
///
/// ICMP errors end an exchange at once. One thread, `tg-datagram`, waits for all answers; it starts with the first one.
package final class DatagramClient: Sendable {
    /// One datagram.
    package struct Request: Sendable {
        /// Where it goes.
        package var address: IPAddress
        package var port: UInt16
        package var payload: [UInt8]
        /// How long an answer is waited for.
        package var limit: Duration
        /// The address of this host that it is sent from; nil leaves that to the kernel.
        package var source: IPAddress?
        /// The only interface that it may leave by.
        package var interface: String?

        /// A datagram that the kernel sends as it likes.
        package init(to address: IPAddress, port: UInt16, payload: [UInt8], within limit: Duration) {
            self.address = address
            self.port = port
            self.payload = payload
            self.limit = limit
        }
    }

    /// What came back.
    package enum Result: Sendable, Hashable {
        /// An answer.
        case answered([UInt8])
        /// Somebody on the way, or this host's own stack, refused it; with the error number (errno(3)), and where from.
        case refused(ICMPError, code: Int32, local: IPAddress?)
        /// No answer came in time.
        case silent
        /// This host could not send it (errno(3)).
        case failed(Int32)
    }

    private let thread = Mutex<LoopThread<DatagramLoop>?>(nil)

    /// A client without a thread yet.
    package init() {}

    deinit { self.thread.withLock { $0.take() }?.stop() }

    /// Sends a datagram and waits for the first one that comes back from its destination and `isAnswer` takes.
    ///
    /// At most 1024 exchanges are under way at a time; further ones fail with `ENOBUFS` at once.
    ///
    /// - Parameters:
    ///   - whenSent: Called once, when the datagram is on its way.
    ///   - isAnswer: Called on the client's thread.
    package func exchange(
        _ request: Request, whenSent: @escaping @Sendable () -> Void,
        isAnswer: @escaping @Sendable ([UInt8]) -> Bool
    ) async -> Result {
        await withCheckedContinuation { waiter in
            let command = DatagramLoop.Command(request: request, whenSent: whenSent, isAnswer: isAnswer) {
                waiter.resume(returning: $0)
            }
            guard let thread = self.runningThread(), thread.send(command) else {
                return command.completion(.failed(ENOBUFS))
            }
        }
    }

    private func runningThread() -> LoopThread<DatagramLoop>? {
        self.thread.withLock { thread in
            if thread == nil { thread = try? LoopThread(name: "tg-datagram") { DatagramLoop(loop: $0) } }
            return thread
        }
    }
}

private final class DatagramLoop: LoopHandler {
    struct Command: Sendable {
        let request: DatagramClient.Request
        let whenSent: @Sendable () -> Void
        let isAnswer: @Sendable ([UInt8]) -> Bool
        let completion: @Sendable (DatagramClient.Result) -> Void
    }

    private struct Pending {
        let command: Command
        let timer: TimerID
    }

    private static let openLimit = 1024

    private let loop: Loop
    private var pending: [Int32: Pending] = [:]
    // As long as any datagram, so that none is cut.
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    init(loop: Loop) { self.loop = loop }

    func receive(_ command: Command) {
        guard self.pending.count < Self.openLimit else { return command.completion(.failed(ENOBUFS)) }
        let domain = command.request.address.family == .ipv4 ? AF_INET : AF_INET6
        let flags = SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(domain, Int32(SOCK_DGRAM.rawValue | flags), 0)
        guard descriptor >= 0 else { return command.completion(.failed(errno)) }
        if let code = Self.send(command.request, by: descriptor) {
            close(descriptor)
            return command.completion(.failed(code))
        }
        do throws(LoopError) {
            try self.loop.watch(descriptor, for: .read)
        } catch {
            close(descriptor)
            return command.completion(.failed(error.code))
        }
        let token = UInt64(UInt32(bitPattern: descriptor))
        self.pending[descriptor] = Pending(
            command: command, timer: self.loop.schedule(after: command.request.limit, token: token))
        command.whenSent()
    }

    // The error number; nil if the datagram is on its way.
    private static func send(_ request: DatagramClient.Request, by descriptor: Int32) -> Int32? {
        ErrorQueue.open(descriptor, request.address.family)
        if let name = request.interface, case let code = tg_bind_to_device(descriptor, name), code != 0 { return code }
        if let source = request.source, case let code = SocketAddress.bind(descriptor, to: source), code != 0 {
            return code
        }
        // A connected socket receives from its destination only.
        let code = SocketAddress.connect(descriptor, to: request.address, port: request.port)
        guard code == 0 else { return code }
        let payload = request.payload
        return Glibc.send(descriptor, payload, payload.count, Int32(MSG_NOSIGNAL)) < 0 ? errno : nil
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        guard let exchange = self.pending[descriptor] else { return }
        // Bounded, in case datagrams arrive faster than they are read.
        for _ in 0..<64 {
            if let error = Self.nextError(of: descriptor) { return self.finish(descriptor, error) }
            let count = recv(descriptor, &self.buffer, self.buffer.count, 0)
            guard count >= 0 else {
                let code = errno
                if [EAGAIN, EINTR].contains(code) { return }
                // That came behind the look at the queue.
                if let error = Self.nextError(of: descriptor) { return self.finish(descriptor, error) }
                if code == EMSGSIZE { continue }
                return self.finish(descriptor, .failed(code))
            }
            let bytes = Array(self.buffer.prefix(count))
            if exchange.command.isAnswer(bytes) { return self.finish(descriptor, .answered(bytes)) }
        }
    }

    // What the queue says of the datagram; nil if nothing.
    private static func nextError(of descriptor: Int32) -> DatagramClient.Result? {
        // A route's MTU is no end: the kernel sends what is too long for it in parts.
        let error = ErrorQueue.drain(descriptor) { error, _ in error.errorNumber != EMSGSIZE }
        return error.map {
            .refused($0.refusal, code: $0.errorNumber, local: SocketAddress.local(of: descriptor))
        }
    }

    func timerFired(_ token: UInt64) { self.finish(Int32(truncatingIfNeeded: token), .silent) }

    func stopping() {
        for descriptor in Array(self.pending.keys) { self.finish(descriptor, .silent) }
    }

    private func finish(_ descriptor: Int32, _ result: DatagramClient.Result) {
        guard let exchange = self.pending.removeValue(forKey: descriptor) else { return }
        self.loop.cancel(exchange.timer)
        // Closing the descriptor ends the watch anyway, so a failure to end it first does not matter.
        try? self.loop.unwatch(descriptor)
        close(descriptor)
        exchange.command.completion(result)
    }
}
