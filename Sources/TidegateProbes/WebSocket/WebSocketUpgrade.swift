internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket

/// Reads a server's answer to the opening handshake, and has frames read after it if it is a switch of protocols.
final class WebSocketUpgrade: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let handshake: WebSocketHandshake
    private let promise: EventLoopPromise<WebSocketHandshake.Answer>
    /// What reads and writes HTTP until then.
    private let (gate, encoder) = (WebSocketAnswerGate(), HTTPRequestEncoder())
    private let decoder = ByteToMessageHandler(HTTPResponseDecoder())
    private var answer: WebSocketHandshake.Answer?

    private init(_ handshake: WebSocketHandshake, _ promise: EventLoopPromise<WebSocketHandshake.Answer>) {
        self.handshake = handshake
        self.promise = promise
    }

    /// Adds what makes the handshake to an empty pipeline; returns the server's answer.
    static func add(
        _ handshake: WebSocketHandshake, to pipeline: ChannelPipeline.SynchronousOperations
    ) throws -> EventLoopFuture<WebSocketHandshake.Answer> {
        let promise = pipeline.eventLoop.makePromise(of: WebSocketHandshake.Answer.self)
        let upgrade = WebSocketUpgrade(handshake, promise)
        do {
            try pipeline.addHandlers([upgrade.gate, upgrade.encoder, upgrade.decoder, upgrade])
        } catch {
            promise.fail(error)
            throw error
        }
        return promise.futureResult
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            let answer = self.handshake.answer(head)
            self.answer = answer
            guard !answer.isUpgrade else { return }
            // The body of a refusal is of no interest.
            self.gate.discard()
            self.promise.succeed(answer)
        case .body: break
        case .end: if self.answer?.isUpgrade ?? false { self.stopHTTP(context) }
        }
    }

    // The decoder is removed a moment later, and nothing may be written through it meanwhile.
    private func stopHTTP(_ context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        _ = pipeline.removeHandler(self.encoder)
        pipeline.removeHandler(self.decoder).assumeIsolated().whenComplete { result in
            do {
                try result.get()
                try self.readFrames(context)
            } catch {
                self.promise.fail(error)
                context.fireErrorCaught(error)
            }
        }
    }

    private func readFrames(_ context: ChannelHandlerContext) throws {
        guard let answer = self.answer else { return }
        let pipeline = context.pipeline.syncOperations
        let frames = ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: WebSocketMessages.limit))
        try pipeline.addHandlers([WebSocketFrameEncoder(), frames], position: .after(self))
        // What waits may end the connection, which has been upgraded all the same.
        self.promise.succeed(answer)
        _ = pipeline.removeHandler(self)
        self.gate.open()
        _ = pipeline.removeHandler(self.gate)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case HTTPParserError.headerOverflow: self.promise.fail(WebSocketAnswerGate.overflow)
        case is HTTPParserError:
            self.promise.fail(WebSocketError.violation("what the server sends is not an answer of HTTP/1.1"))
        case _ where StreamError.isEnd(error): self.promise.fail(StreamError.closedWithoutAnswer)
        default: self.promise.fail(error)
        }
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.promise.fail(StreamError.closedWithoutAnswer)
        context.fireChannelInactive()
    }

    // Does nothing if there is an answer.
    func handlerRemoved(context: ChannelHandlerContext) { self.promise.fail(StreamError.closedWithoutAnswer) }
}
