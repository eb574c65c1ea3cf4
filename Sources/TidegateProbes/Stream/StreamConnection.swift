internal import NIOCore
internal import NIOPosix
internal import TidegateCore
internal import TidegateNetwork

/// A connection of a probe: a byte stream over TCP or a Unix socket, optionally encrypted.
///
/// Ends at the probe's deadline, whatever the peer does.
struct StreamConnection: Sendable {
    let channel: any Channel
    private let reader: NIOLoopBound<StreamReader>
    /// The connection's TLS handshake; nil for none.
    let handshake: EventLoopFuture<String?>?

    /// Uses an established connection.
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
            // The reason for the close is more informative.
            let reader = self.reader
            let failure = try await self.channel.eventLoop.submit { reader.value.failure }.get()
            if case StreamError.closed? = failure { throw StreamError.closedWithoutAnswer }
            throw failure ?? ChannelError.ioOnClosedChannel
        }
    }

    /// Starts TLS; returns the handshake.
    ///
    /// Discards earlier bytes, because they were not encrypted.
    func start(_ client: TLSClient) async throws -> EventLoopFuture<String?> {
        let (channel, reader) = (self.channel, self.reader)
        return try await channel.eventLoop.submit {
            // The handshake would not notice that the stream has already ended.
            if let failure = reader.value.failure { throw failure }
            reader.value.discard()
            return try client.start(in: channel.pipeline.syncOperations)
        }.get()
    }

    /// Closes the TLS session, and waits at most a second for the peer's reply.
    ///
    /// - Throws: The peer's rejection of this host's certificate, which in TLS 1.3 follows the handshake (RFC 8446
    /// 4.4.2.4). Other errors are ignored.
    func end() async throws {
        try? await self.channel.close()
        let reader = self.reader
        let failure = try await self.channel.eventLoop.submit { reader.value.failure }.get()
        if let failure, HandshakeFailure(failure)?.isAboutClientCertificate ?? false { throw failure }
    }

    /// Closes the connection without waiting for the peer.
    func close() { self.channel.close(promise: nil) }
}

extension Duration {
    /// The same duration as NIO's type, at least one nanosecond.
    var timeAmount: TimeAmount {
        let (seconds, attoseconds) = self.components
        return .nanoseconds(max(1, seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
    }
}
