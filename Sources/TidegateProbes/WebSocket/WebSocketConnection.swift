internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOWebSocket
internal import TidegateCore
internal import TidegateNetwork

/// A probe's WebSocket connection with its handshakes; ends at the probe's deadline, whatever the server does.
struct WebSocketConnection: Sendable {
    private let channel: any Channel
    private let reader: NIOLoopBound<WebSocketReader>
    private let handshake: WebSocketHandshake
    private let answer: EventLoopFuture<WebSocketHandshake.Answer>
    /// The preceding TLS handshake; nil for none.
    let encryption: EventLoopFuture<String?>?

    /// Starts the handshakes on an established connection.
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

    /// Requests the switch of protocols.
    func upgrade() async throws -> WebSocketHandshake.Answer {
        // If the write fails, the answer shows the reason.
        self.channel.write(HTTPClientRequestPart.head(self.handshake.request), promise: nil)
        self.channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        return try await self.answer.get()
    }

    /// The next message, or how the server ended the connection.
    func next() async throws -> WebSocketReader.Received {
        let (eventLoop, reader) = (self.channel.eventLoop, self.reader)
        return try await eventLoop.flatSubmit { reader.value.next(on: eventLoop) }.get()
    }

    /// Sends a text message; returns how the server had already ended the connection, or nil.
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

    /// Sends a close frame, without waiting for the server.
    func end() {
        let reader = self.reader
        self.channel.eventLoop.execute { reader.value.close() }
    }

    /// Closes the connection without a close frame.
    func close() { self.channel.close(promise: nil) }
}

/// The opening handshake of a WebSocket connection (RFC 6455 4), from the client's side.
struct WebSocketHandshake: Sendable {
    /// The server's answer to the handshake.
    struct Answer: Sendable {
        let status: Int
        /// The problem with the switch of protocols, as one clause; nil if the answer is valid.
        let problem: String?

        /// True if frames follow the answer.
        var isUpgrade: Bool { self.status == 101 && self.problem == nil }
    }

    let request: HTTPRequestHead
    private let key: String
    /// The protocols that the module offers, in lower case.
    private let protocols: [String]

    /// A handshake that requests a resource, with a random key.
    init(_ url: HTTPURL, fields: [HTTPField], userAgent: String) {
        let key = NIOWebSocketClientUpgrader.randomRequestKey()
        func first(_ name: String) -> String? { fields.first { $0.name.canonicalName == name }?.value }
        var headers: HTTPHeaders = [
            "Host": first("host") ?? url.origin.authority, "User-Agent": first("user-agent") ?? userAgent,
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
        ]
        for field in fields where !["host", "user-agent"].contains(field.name.canonicalName) {
            headers.add(name: field.name.rawName, value: field.value)
        }
        self.key = key
        self.protocols = headers.tokens("Sec-WebSocket-Protocol")
        self.request = HTTPRequestHead(version: .http1_1, method: .GET, uri: url.requestTarget, headers: headers)
    }

    /// Interprets an answer.
    func answer(_ head: HTTPResponseHead) -> Answer {
        Answer(
            status: Int(head.status.code), problem: head.status == .switchingProtocols ? self.problem(of: head) : nil)
    }

    // RFC 6455 4.1.
    private func problem(of head: HTTPResponseHead) -> String? {
        guard head.headers.tokens("Upgrade").contains("websocket"),
            head.headers.tokens("Connection").contains("upgrade")
        else { return "the server switches to another protocol than WebSocket" }
        // No other API of swift-nio computes the digest.
        let verifier = NIOWebSocketClientUpgrader(requestKey: self.key) { channel, _ in
            channel.eventLoop.makeSucceededVoidFuture()
        }
        guard verifier.shouldAllowUpgrade(upgradeResponse: head) else {
            return "the server's Sec-WebSocket-Accept does not match the key"
        }
        guard head.headers.tokens("Sec-WebSocket-Extensions").isEmpty else {
            return "the server uses an extension that was not offered"
        }
        let chosen = head.headers.tokens("Sec-WebSocket-Protocol")
        guard chosen.count <= 1, chosen.allSatisfy(self.protocols.contains) else {
            return "the server chose a protocol that was not offered"
        }
        return nil
    }
}

extension HTTPHeaders {
    /// The elements of a list field, in lower case.
    fileprivate func tokens(_ name: String) -> [String] {
        self[canonicalForm: name].map { $0.lowercased() }.filter { !$0.isEmpty }
    }
}

/// Reads a server's answer to the opening handshake, and starts reading frames if the protocol is switched.
final class WebSocketUpgrade: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let handshake: WebSocketHandshake
    private let promise: EventLoopPromise<WebSocketHandshake.Answer>
    /// The handlers for HTTP until the switch.
    private let (gate, encoder) = (WebSocketAnswerGate(), HTTPRequestEncoder())
    private let decoder = ByteToMessageHandler(HTTPResponseDecoder())
    private var answer: WebSocketHandshake.Answer?

    private init(_ handshake: WebSocketHandshake, _ promise: EventLoopPromise<WebSocketHandshake.Answer>) {
        self.handshake = handshake
        self.promise = promise
    }

    /// Adds the handlers of the handshake to an empty pipeline; returns the server's answer.
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
            // The body of a rejection does not matter.
            self.gate.discard()
            self.promise.succeed(answer)
        case .body: break
        case .end: if self.answer?.isUpgrade ?? false { self.stopHTTP(context) }
        }
    }

    // The decoder is removed slightly later; until then, nothing may be written through it.
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
        // Buffered bytes may end the connection, but the upgrade has still succeeded.
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

    // Does nothing if there is already an answer.
    func handlerRemoved(context: ChannelHandlerContext) { self.promise.fail(StreamError.closedWithoutAnswer) }
}

/// Forwards the header of a server's answer, and holds back later bytes and the end until frames are read.
///
/// A server may send its whole conversation, and close the connection, in the same packet as its answer.
final class WebSocketAnswerGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum State {
        /// The answer's header is incomplete.
        case header
        /// The header is complete; later bytes are held back.
        case shut
        /// Bytes are forwarded.
        case open
        /// Bytes are discarded.
        case discarding
    }

    static let overflow = WebSocketError.tooLarge("the header of the server's answer is too long")
    private static let limit = 65_536

    private var state = State.header
    private var buffer = ByteBuffer()
    /// The number of bytes forwarded so far: a server may send informational answers (1xx) without end.
    private var passed = 0
    /// The position before which the header cannot end.
    private var searched = 0
    private var isEnded = false
    private var failure: (any Error)?
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Discards further bytes.
    func discard() {
        self.state = .discarding
        self.buffer.clear()
    }

    /// Forwards the held bytes, and further ones.
    func open() {
        self.state = .open
        guard let context = self.context else { return }
        if self.buffer.readableBytes > 0 { context.fireChannelRead(self.wrapInboundOut(self.buffer)) }
        self.buffer.clear()
        context.fireChannelReadComplete()
        if let failure = self.failure { context.fireErrorCaught(failure) }
        if self.isEnded { context.fireChannelInactive() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.state {
        case .open: context.fireChannelRead(data)
        case .discarding: break
        case .shut, .header:
            var bytes = self.unwrapInboundIn(data)
            self.buffer.writeBuffer(&bytes)
            self.passHeader(context)
        }
    }

    private func passHeader(_ context: ChannelHandlerContext) {
        while case .header = self.state {
            guard self.mayBeHTTP else {
                // The decoder reports what it is.
                self.state = .discarding
                return context.fireChannelRead(self.wrapInboundOut(self.buffer))
            }
            guard let length = self.headerLength, let header = self.buffer.readSlice(length: length) else {
                guard self.passed + self.buffer.readableBytes > Self.limit else { return }
                self.discard()
                return context.fireErrorCaught(Self.overflow)
            }
            self.searched = 0
            self.passed += length
            let isInterim = header.readableBytesView.dropFirst(9).first == UInt8(ascii: "1")
            let isUpgrade = header.readableBytesView.dropFirst(9).prefix(3).elementsEqual("101".utf8)
            if !isInterim || isUpgrade { self.state = .shut }
            context.fireChannelRead(self.wrapInboundOut(header))
        }
    }

    private var mayBeHTTP: Bool { zip(self.buffer.readableBytesView, "HTTP/".utf8).allSatisfy { $0 == $1 } }

    // The length up to an empty line; nil without one.
    private var headerLength: Int? {
        let view = self.buffer.readableBytesView
        var feeds = 0
        for (position, byte) in view.dropFirst(self.searched).enumerated() {
            switch byte {
            case 0x0A:
                feeds += 1
                if feeds == 2 { return self.searched + position + 1 }
            case 0x0D: break
            default: feeds = 0
            }
        }
        // A read may split the line end.
        self.searched = max(0, view.count - 3)
        return nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard case .shut = self.state else { return context.fireChannelInactive() }
        self.isEnded = true
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .shut = self.state else { return context.fireErrorCaught(error) }
        self.failure = error
    }
}
