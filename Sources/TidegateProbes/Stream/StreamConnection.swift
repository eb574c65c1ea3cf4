internal import NIOCore
internal import NIOPosix
internal import TidegateCore
internal import TidegateNetwork

/// A connection of a probe: bytes in order, over TCP or a Unix socket, perhaps encrypted.
///
/// It ends at the probe's deadline, whatever the peer does.
struct StreamConnection: Sendable {
    let channel: any Channel
    private let reader: NIOLoopBound<StreamReader>
    /// The handshake that began with the connection; nil for none.
    let handshake: EventLoopFuture<String?>?

    /// Speaks on a connection that stands.
    static func take(
        _ socket: consuming ConnectedSocket, within limit: Duration, tls: TLSClient?
    ) async throws -> StreamConnection {
        try await Self.bootstrap.withConnectedSocket(socket.release()) { channel in
            channel.eventLoop.makeCompletedFuture { try Self.start(on: channel, within: limit, tls: tls) }
        }
    }

    /// Connects to a Unix socket.
    static func connect(
        to address: SocketAddress, within limit: Duration, tls: TLSClient?
    ) async throws -> StreamConnection {
        try await Self.bootstrap.connectTimeout(limit.timeAmount).connect(to: address) { channel in
            channel.eventLoop.makeCompletedFuture { try Self.start(on: channel, within: limit, tls: tls) }
        }
    }

    // NIO's threads, which the whole process shares: a probe mostly waits.
    private static var bootstrap: ClientBootstrap {
        ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.allowRemoteHalfClosure, value: true)
    }

    private static func start(
        on channel: any Channel, within limit: Duration, tls: TLSClient?
    ) throws -> StreamConnection {
        let (pipeline, reader) = (channel.pipeline.syncOperations, StreamReader())
        try pipeline.addHandler(reader)
        let bound = NIOLoopBound(reader, eventLoop: channel.eventLoop)
        let expiry = channel.eventLoop.scheduleTask(in: limit.timeAmount) { bound.value.fail(StreamError.timedOut) }
        channel.closeFuture.whenComplete { _ in expiry.cancel() }
        return StreamConnection(channel: channel, reader: bound, handshake: try tls?.start(in: pipeline))
    }

    /// The next bytes; nil at the end.
    func next(_ wanted: StreamReader.Wanted) async throws -> [UInt8]? {
        let (eventLoop, reader) = (self.channel.eventLoop, self.reader)
        return try await eventLoop.flatSubmit { reader.value.next(wanted, on: eventLoop) }.get()
    }

    /// Sends bytes.
    func send(_ bytes: [UInt8]) async throws {
        do {
            try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes))
        } catch ChannelError.ioOnClosedChannel {
            // Why it is closed says more.
            let reader = self.reader
            let failure = try await self.channel.eventLoop.submit { reader.value.failure }.get()
            if case StreamError.closed? = failure { throw StreamError.closedWithoutAnswer }
            throw failure ?? ChannelError.ioOnClosedChannel
        }
    }

    /// Encrypts what follows; returns the handshake.
    ///
    /// What came before is forgotten: it was not encrypted.
    func start(_ client: TLSClient) async throws -> EventLoopFuture<String?> {
        let (channel, reader) = (self.channel, self.reader)
        return try await channel.eventLoop.submit {
            // The handshake would not learn of an end that was before it.
            if let failure = reader.value.failure { throw failure }
            reader.value.discard()
            return try client.start(in: channel.pipeline.syncOperations)
        }.get()
    }

    /// Ends it in the way of TLS, and waits a second at most for what the peer says to that.
    ///
    /// - Throws: The peer's refusal of this host's certificate, which in TLS 1.3 comes behind the handshake
    ///   (RFC 8446 4.4.2.4); how else it ended is of no interest.
    func end() async throws {
        try? await self.channel.close()
        let reader = self.reader
        let failure = try await self.channel.eventLoop.submit { reader.value.failure }.get()
        if let failure, HandshakeFailure(failure)?.isAboutClientCertificate ?? false { throw failure }
    }

    /// Ends it, without waiting for the peer.
    func close() { self.channel.close(promise: nil) }
}

extension Duration {
    /// The same as NIO has it; at least a nanosecond.
    var timeAmount: TimeAmount {
        let (seconds, attoseconds) = self.components
        return .nanoseconds(max(1, seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
    }
}
