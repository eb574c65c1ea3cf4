internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOWebSocket
internal import TidegateCore
internal import TidegateNetwork

/// A WebSocket connection of a probe, with its handshakes; it ends at the probe's deadline, whatever the server does.
struct WebSocketConnection: Sendable {
    private let channel: any Channel
    private let reader: NIOLoopBound<WebSocketReader>
    private let handshake: WebSocketHandshake
    private let answer: EventLoopFuture<WebSocketHandshake.Answer>
    /// The TLS handshake that comes first; nil for none.
    let encryption: EventLoopFuture<String?>?

    /// Begins the handshakes on a connection that stands.
    static func take(
        _ socket: consuming ConnectedSocket, within limit: Duration, tls: TLSClient?, _ handshake: WebSocketHandshake
    ) async throws -> WebSocketConnection {
        let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        return try await bootstrap.withConnectedSocket(socket.release()) { channel in
            channel.eventLoop.makeCompletedFuture {
                let (pipeline, reader) = (channel.pipeline.syncOperations, WebSocketReader())
                let answer = try WebSocketUpgrade.add(handshake, to: pipeline)
                try pipeline.addHandler(reader)
                let bound = NIOLoopBound(reader, eventLoop: channel.eventLoop)
                let expiry = channel.eventLoop.scheduleTask(in: limit.timeAmount) {
                    bound.value.fail(StreamError.timedOut)
                }
                channel.closeFuture.whenComplete { _ in expiry.cancel() }
                return WebSocketConnection(
                    channel: channel, reader: bound, handshake: handshake, answer: answer,
                    encryption: try tls?.start(in: pipeline))
            }
        }
    }

    /// Asks the server to switch protocols.
    func upgrade() async throws -> WebSocketHandshake.Answer {
        // If that cannot be written, the answer says why.
        self.channel.write(HTTPClientRequestPart.head(self.handshake.request), promise: nil)
        self.channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        return try await self.answer.get()
    }

    /// The next message, or how the server ended the connection.
    func next() async throws -> WebSocketReader.Received {
        let (eventLoop, reader) = (self.channel.eventLoop, self.reader)
        return try await eventLoop.flatSubmit { reader.value.next(on: eventLoop) }.get()
    }

    /// Sends a message of text; returns how the server had ended the connection, or nil if it had not.
    func send(_ text: [UInt8]) async throws -> String? {
        let (channel, reader) = (self.channel, self.reader)
        let sending = channel.eventLoop.flatSubmit {
            switch reader.value.ended {
            case nil: channel.writeAndFlush(WebSocketFrame.toServer(.text, text)).map { String?.none }
            case .success(let how)?: channel.eventLoop.makeSucceededFuture(String?.some(how))
            case .failure(let error)?: channel.eventLoop.makeFailedFuture(error)
            }
        }
        return try await sending.get()
    }

    /// Ends it in the protocol's way, without waiting for the server.
    func end() {
        let reader = self.reader
        self.channel.eventLoop.execute { reader.value.close() }
    }

    /// Ends it, without a word to the server.
    func close() { self.channel.close(promise: nil) }
}
