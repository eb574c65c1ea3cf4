internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import TidegateCore
internal import TidegateNetwork

/// A question and its reply on a connection of its own.
struct DNSExchange: Sendable {
    /// Why no reply came.
    enum Failure: Error {
        case timedOut
        /// The connection was closed by the server.
        case closed
        /// What came is no reply to the question.
        case malformed
        /// This host has no interface of that name.
        case noInterface(String)
        /// Somebody refused the datagram, with an error number (errno(3)), that came from `local`.
        case refused(ICMPError, code: Int32, local: IPAddress?)
    }

    /// How far an exchange came.
    final class Progress: Sendable {
        private struct State {
            var stage = Stage.connect
            var connected: MonotonicTime?
            var hasJunk = false
        }

        private let state = Mutex(State())
        private let time: any TimeSource

        init(_ time: any TimeSource) { self.time = time }

        func enter(_ stage: Stage) {
            let now = self.time.monotonic()
            self.state.withLock { state in
                state.stage = stage
                if stage == .response { state.connected = now }
            }
        }

        /// Datagrams came that are no replies to the question.
        func receiveJunk() { self.state.withLock { $0.hasJunk = true } }

        var hasJunk: Bool { self.state.withLock { $0.hasJunk } }
        var stage: Stage { self.state.withLock { $0.stage } }
        /// When the connection stood, with its handshake; nil if it never did.
        var connected: MonotonicTime? { self.state.withLock { $0.connected } }
    }

    let address: IPAddress
    let port: UInt16
    let source: ProbeSource
    let transport: DNSProbeOptions.Transport
    /// The handshake that comes first; nil for none.
    let tls: TLSClient?
    let question: [UInt8]
    let id: UInt16
    /// Sends datagrams: a channel of NIO for them traps when a router refuses one.
    let datagrams: DatagramClient

    /// The reply in what came; nil if that is none to the question.
    func reply(in bytes: [UInt8]) -> DNSReply? {
        guard let reply = DNSReply(bytes), reply.id == self.id else { return nil }
        return reply.isAbout(self.question) ? reply : nil
    }

    /// Asks by a datagram, and waits for at most `limit`.
    func sendDatagram(within limit: Duration, _ progress: Progress) async -> Result<DNSReply, any Error> {
        // The client would say only that it could not send.
        if let name = self.source.interface, NetworkInterface.index(of: name) == nil {
            return .failure(Failure.noInterface(name))
        }
        var request = DatagramClient.Request(to: self.address, port: self.port, payload: self.question, within: limit)
        (request.source, request.interface) = (self.source.address, self.source.interface)
        let result = await self.datagrams.exchange(request, whenSent: { progress.enter(.response) }) { bytes in
            // Anybody can send a datagram that seems to come from the server: one that does not fit ends nothing.
            guard self.reply(in: bytes) == nil else { return true }
            progress.receiveJunk()
            return false
        }
        switch result {
        case .answered(let bytes): return self.reply(in: bytes).map { .success($0) } ?? .failure(Failure.malformed)
        case .silent: return .failure(Failure.timedOut)
        // The server's own word, unless somebody else sent it.
        case .refused(let error, code: ECONNREFUSED, _) where error.isFrom(self.address):
            return .failure(IOError(errnoCode: ECONNREFUSED, reason: "recv"))
        case .failed(ECONNREFUSED):
            return .failure(IOError(errnoCode: ECONNREFUSED, reason: "recv"))
        case .refused(let error, let code, let local):
            return .failure(Failure.refused(error, code: code, local: local))
        case .failed(let code): return .failure(IOError(errnoCode: code, reason: "send"))
        }
    }

    /// Asks on a connection that stands, and waits for at most `limit`.
    func ask(
        on socket: consuming ConnectedSocket, within limit: Duration, _ progress: Progress
    ) async -> Result<DNSReply, any Error> {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: DNSReply.self)
        let timeout = loop.scheduleTask(in: limit.timeAmount) { promise.fail(Failure.timedOut) }
        let opening = ClientBootstrap(group: loop).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(DNSReplyHandler(self, promise, progress))
                try self.encrypt(pipeline, promise)
            }
        }.withConnectedSocket(socket.release())
        opening.whenFailure { promise.fail($0) }
        let result: Result<DNSReply, any Error>
        do {
            result = .success(try await promise.futureResult.get())
        } catch {
            result = .failure(error)
        }
        timeout.cancel()
        opening.whenSuccess { $0.close(promise: nil) }
        return result
    }

    private func encrypt(
        _ pipeline: ChannelPipeline.SynchronousOperations, _ promise: EventLoopPromise<DNSReply>
    ) throws {
        guard let tls = self.tls else { return }
        // The certificate's problem says more than the end of the handshake.
        try tls.start(in: pipeline).whenFailure { promise.fail(tls.problem.map(StreamError.certificate) ?? $0) }
    }
}
