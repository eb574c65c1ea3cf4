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
    /// Where the socket of a connection is noted; nil if nobody asks for it.
    let own: OwnSockets?
    /// Sends datagrams: a channel of NIO for them traps when a router refuses one.
    let datagrams: DatagramClient

    /// Asks, and waits for at most `limit`.
    func run(within limit: Duration, _ progress: Progress) async -> Result<DNSReply, any Error> {
        switch self.transport {
        case .udp: await self.sendDatagram(within: limit, progress)
        case .tcp: await self.connect(within: limit, progress)
        }
    }

    /// The reply in what came; nil if that is none to the question.
    func reply(in bytes: [UInt8]) -> DNSReply? {
        guard let reply = DNSReply(bytes), reply.id == self.id else { return nil }
        return reply.isAbout(self.question) ? reply : nil
    }

    private func sendDatagram(within limit: Duration, _ progress: Progress) async -> Result<DNSReply, any Error> {
        // The client would say only that it could not send.
        do { _ = try self.source.interfaceOption } catch { return .failure(error) }
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
        // The server's own word.
        case .refused(_, code: ECONNREFUSED, _), .failed(ECONNREFUSED):
            return .failure(IOError(errnoCode: ECONNREFUSED, reason: "recv"))
        case .refused(let error, let code, let local):
            return .failure(Failure.refused(error, code: code, local: local))
        case .failed(let code): return .failure(IOError(errnoCode: code, reason: "send"))
        }
    }

    private func connect(within limit: Duration, _ progress: Progress) async -> Result<DNSReply, any Error> {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: DNSReply.self)
        let nanoseconds = Int64(min(limit.inSeconds, 86_400) * 1e9)
        let timeout = loop.scheduleTask(in: .nanoseconds(nanoseconds)) { promise.fail(Failure.timedOut) }
        let opening: EventLoopFuture<any Channel>
        do {
            opening = try self.open(on: loop, within: .nanoseconds(nanoseconds), promise, progress)
        } catch {
            opening = loop.makeFailedFuture(error)
        }
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

    private func open(
        on loop: any EventLoop, within limit: TimeAmount, _ promise: EventLoopPromise<DNSReply>, _ progress: Progress
    ) throws -> EventLoopFuture<any Channel> {
        let remote = try SocketAddress(ipAddress: "\(self.address)", port: Int(self.port))
        let local = try self.source.socketAddress
        let option = try self.source.interfaceOption
        let initialize: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            self.own?.insert(channel)
            return channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(ConnectWatch())
                try pipeline.addHandler(DNSReplyHandler(self, promise, progress))
                try self.encrypt(pipeline, promise)
            }
        }
        var bootstrap = ClientBootstrap(group: loop).channelInitializer(initialize).connectTimeout(limit)
        if let local { bootstrap = bootstrap.bind(to: local) }
        if let option { bootstrap = bootstrap.channelOption(option.key, value: option.value) }
        return bootstrap.connect(to: remote)
    }

    private func encrypt(
        _ pipeline: ChannelPipeline.SynchronousOperations, _ promise: EventLoopPromise<DNSReply>
    ) throws {
        guard let tls = self.tls else { return }
        // The certificate's problem says more than the end of the handshake.
        try tls.start(in: pipeline).whenFailure { promise.fail(tls.problem.map(StreamError.certificate) ?? $0) }
    }
}
