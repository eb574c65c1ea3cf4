internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2
internal import NIOPosix
internal import NIOTLS
internal import TidegateCore
internal import TidegateNetwork

/// One call over HTTP/2, with a connection of its own.
///
/// It ends at the probe's deadline, whatever the server does.
struct GRPCCall: Sendable {
    /// The first stream that a client opens.
    static let stream = HTTP2StreamID(1)

    let fields: HPACKHeaders
    let message: [UInt8]
    /// The handshake that comes first; nil for none.
    let tls: TLSClient?

    /// A call that was begun.
    struct Connection: Sendable {
        let channel: any Channel
        /// The handshake that began with the connection; nil for none.
        let handshake: EventLoopFuture<String?>?
        let health: EventLoopFuture<HealthMessage.ServingStatus>
    }

    /// Begins the call on a connection that stands.
    func start(on socket: consuming ConnectedSocket, within limit: Duration) async throws -> Connection {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .withConnectedSocket(socket.release()) { channel in
                channel.eventLoop.makeCompletedFuture { try self.begin(on: channel, within: limit) }
            }
    }

    private func begin(on channel: any Channel, within limit: Duration) throws -> Connection {
        let promise = channel.eventLoop.makePromise(of: HealthMessage.ServingStatus.self)
        let expiry = channel.eventLoop.scheduleTask(in: limit.timeAmount) {
            channel.pipeline.fireErrorCaught(StreamError.timedOut)
            promise.fail(StreamError.timedOut)
            channel.close(promise: nil)
        }
        channel.closeFuture.whenComplete { _ in
            expiry.cancel()
            promise.fail(GRPCError.closed)
        }
        let pipeline = channel.pipeline.syncOperations
        guard let tls = self.tls else {
            try self.speak(on: channel, promise)
            return Connection(channel: channel, handshake: nil, health: promise.futureResult)
        }
        // What comes behind the handshake waits until HTTP/2 is there.
        try pipeline.addHandler(
            ApplicationProtocolNegotiationHandler { result, channel in
                channel.eventLoop.makeCompletedFuture {
                    guard case .negotiated("h2") = result else { throw GRPCError.noAgreement }
                    try self.speak(on: channel, promise)
                }.flatMapErrorThrowing { error in
                    promise.fail(error)
                    channel.close(promise: nil)
                }
            })
        return Connection(
            channel: channel, handshake: try tls.start(in: pipeline), health: promise.futureResult)
    }

    // HTTP/2, with a stream for the call.
    private func speak(
        on channel: any Channel, _ promise: EventLoopPromise<HealthMessage.ServingStatus>
    ) throws {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings.append(HTTP2Setting(parameter: .enablePush, value: 0))
        let handler = NIOHTTP2Handler(
            mode: .client, eventLoop: channel.eventLoop, connectionConfiguration: configuration
        ) { stream in stream.close() }
        try channel.pipeline.syncOperations.addHandlers([handler, GRPCConnectionHandler(promise)])
        let (fields, message) = (self.fields, self.message)
        try handler.syncMultiplexer().createStreamChannel(promise: nil) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(GRPCCallHandler(fields, message, promise))
            }
        }
    }
}
