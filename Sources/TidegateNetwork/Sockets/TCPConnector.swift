internal import Glibc
internal import Synchronization
package import TidegateCore
internal import TidegateLoop

/// Opens TCP connections, each by a socket of its own.
///
/// The caller's thread asks for the connection and sees at once what the kernel knows at once, as it does for this host's
/// own addresses. For all others one thread, `tg-connect`, waits; it starts with the first of them.
package final class TCPConnector: Sendable {
    /// One connection.
    package struct Request: Sendable, Hashable {
        /// Who is connected to.
        package var address: IPAddress
        /// The port there.
        package var port: UInt16
        /// How long an answer is waited for.
        package var limit: Duration
        /// The address of this host that it comes from; nil leaves that to the kernel.
        package var source: IPAddress?
        /// The only interface that its packets may leave by.
        package var interface: String?

        /// A connection that the kernel makes as it likes.
        package init(to address: IPAddress, port: UInt16, within limit: Duration) {
            self.address = address
            self.port = port
            self.limit = limit
        }
    }

    /// Why there is no connection.
    package enum Failure: Error, Hashable {
        /// This host has no interface of that name.
        case noInterface(String)
        /// It was refused (errno(3)): `isImmediate` if this host did that in the very call, so that nobody else has said
        /// anything; `error` is the ICMP error that came from somebody to the address `local`.
        case failed(code: Int32, isImmediate: Bool, error: ICMPError? = nil, local: IPAddress? = nil)
        /// No answer came in time.
        case timedOut
    }

    private let thread = Mutex<LoopThread<ConnectLoop>?>(nil)

    /// A connector without a thread yet.
    package init() {}

    deinit { self.stop() }

    /// Connects; the socket is noted in `own` before its first packet.
    package func connect(
        _ request: Request, noting own: OwnSockets? = nil
    ) async throws(Failure) -> ConnectedSocket {
        let socket = try ConnectSocket(request, noting: own)
        if let result = socket.result { return ConnectedSocket(try result.get()) }
        let result = await withCheckedContinuation { waiter in
            let command = ConnectLoop.Command(socket: socket, limit: request.limit) { waiter.resume(returning: $0) }
            guard let thread = self.runningThread() else {
                socket.close()
                return command.completion(.failure(.failed(code: ENOBUFS, isImmediate: true)))
            }
            guard thread.send(command) else {
                // It was stopped meanwhile.
                socket.close()
                return command.completion(.failure(.timedOut))
            }
        }
        return ConnectedSocket(try result.get())
    }

    private func runningThread() -> LoopThread<ConnectLoop>? {
        self.thread.withLock { thread in
            if thread == nil { thread = try? LoopThread(name: "tg-connect") { ConnectLoop(loop: $0) } }
            return thread
        }
    }

    /// Ends the attempts under way as unanswered, then the thread.
    package func stop() { self.thread.withLock { $0.take() }?.stop() }
}

extension ConnectSocket {
    /// The descriptor, or why there is no connection, after which the socket is closed; nil while nothing is decided.
    fileprivate var result: Result<Int32, TCPConnector.Failure>? {
        switch self.state {
        case .connecting: return nil
        case .connected:
            self.ignoreErrors()
            return .success(self.descriptor)
        case .failed(let code):
            let error = self.removeError()
            let local = error == nil ? nil : SocketAddress.local(of: self.descriptor)
            self.close()
            return .failure(.failed(code: code, isImmediate: false, error: error, local: local))
        }
    }
}

private final class ConnectLoop: LoopHandler {
    struct Command: Sendable {
        let socket: ConnectSocket
        let limit: Duration
        let completion: @Sendable (Result<Int32, TCPConnector.Failure>) -> Void
    }

    private struct Pending {
        let command: Command
        let timer: TimerID
    }

    private let loop: Loop
    private var pending: [Int32: Pending] = [:]

    init(loop: Loop) { self.loop = loop }

    func receive(_ command: Command) {
        let descriptor = command.socket.descriptor
        do throws(LoopError) {
            try self.loop.watch(descriptor, for: .write)
        } catch {
            command.socket.close()
            return command.completion(.failure(.failed(code: error.code, isImmediate: true)))
        }
        let token = UInt64(UInt32(bitPattern: descriptor))
        let timer = self.loop.schedule(after: command.limit, token: token)
        self.pending[descriptor] = Pending(command: command, timer: timer)
    }

    func ready(_ descriptor: Int32, for _: Loop.Interest) {
        guard let result = self.pending[descriptor]?.command.socket.result else { return }
        // A failure has closed it, which ends the watch as well.
        try? self.loop.unwatch(descriptor)
        self.take(descriptor)?.completion(result)
    }

    func timerFired(_ token: UInt64) { self.giveUp(Int32(truncatingIfNeeded: token)) }

    func stopping() {
        for descriptor in Array(self.pending.keys) { self.giveUp(descriptor) }
    }

    private func giveUp(_ descriptor: Int32) {
        guard let command = self.take(descriptor) else { return }
        try? self.loop.unwatch(descriptor)
        command.socket.close()
        command.completion(.failure(.timedOut))
    }

    private func take(_ descriptor: Int32) -> Command? {
        guard let pending = self.pending.removeValue(forKey: descriptor) else { return nil }
        self.loop.cancel(pending.timer)
        return pending.command
    }
}
