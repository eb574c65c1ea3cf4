internal import NIOCore
internal import NIOWebSocket

/// Buffers unread messages of a WebSocket server, and answers pings.
///
/// Reading pauses while a message is unread, or while the server accepts no pongs.
final class WebSocketReader: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// The next input.
    enum Received: Sendable {
        case message([UInt8])
        /// The end of the connection; one clause says how the server ended it.
        case end(String)
    }

    /// How long the server may take to answer a close frame.
    private static let lingering = TimeAmount.seconds(1)

    private var assembler = WebSocketMessages()
    private var messages = CircularBuffer<[UInt8]>()
    /// How the connection ended; nil while it is open.
    private var end: Result<String, any Error>?
    private var waiting: EventLoopPromise<Received>?
    /// True once this side has sent a close frame.
    private var isClosing = false
    /// True if the socket must be read once there is room.
    private var hasPendingRead = false
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.finish(.failure(StreamError.closedWithoutAnswer))
        self.context = nil
    }

    /// The next message, or the end.
    func next(on eventLoop: any EventLoop) -> EventLoopFuture<Received> {
        let promise = eventLoop.makePromise(of: Received.self)
        self.waiting = promise
        self.deliver()
        return promise.futureResult
    }

    /// How the connection ended; nil while it is open.
    var ended: Result<String, any Error>? { self.end }

    /// Ends the connection, whatever the server does.
    func fail(_ error: any Error) {
        self.finish(.failure(error))
        self.context?.close(promise: nil)
    }

    /// Sends a close frame, and waits briefly for the server's (RFC 6455 7.1.1).
    func close() {
        guard let context = self.context else { return }
        guard self.end == nil, !self.isClosing else { return context.close(promise: nil) }
        self.isClosing = true
        self.messages.removeAll()
        self.sendClose(.normalClosure, context)
        let lingering = context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingering) {
            self.context?.close(promise: nil)
        }
        context.channel.closeFuture.whenComplete { _ in lingering.cancel() }
        self.readIfThereIsRoom()
    }

    // MARK: - From the channel

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.end == nil else { return }
        do throws(WebSocketError) {
            switch try self.assembler.take(self.unwrapInboundIn(data)) {
            case .none: break
            case .message(let bytes):
                if !self.isClosing { self.messages.append(bytes) }
                self.deliver()
            case .ping(let bytes): self.send(.pong, bytes, context)
            case .close(let code, let reason): self.receiveClose(code, reason, context)
            }
        } catch {
            self.refuse(error, context)
        }
    }

    func read(context: ChannelHandlerContext) {
        if self.hasRoom(context) { context.read() } else { self.hasPendingRead = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.readIfThereIsRoom()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.finish(.success("the server closed the connection"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength: self.refuse(.tooLarge("a frame has more than 1 MiB"), context)
        case NIOWebSocketError.multiByteControlFrameLength:
            self.refuse(.violation("the server sends a control frame of more than 125 bytes"), context)
        case NIOWebSocketError.fragmentedControlFrame:
            self.refuse(.violation("the server sends a control frame in parts"), context)
        case _ where StreamError.isEnd(error):
            self.finish(.success("the server closed the connection"))
            context.close(promise: nil)
        default:
            self.finish(.failure(error))
            context.close(promise: nil)
        }
    }

    private func receiveClose(_ code: UInt16?, _ reason: String, _ context: ChannelHandlerContext) {
        let code = code.map { " with code \($0)" } ?? ""
        self.finish(.success("the server ended it\(code)\(reason.isEmpty ? "" : ": \(reason)")"))
        // Either the server's own close frame or its reply; in both cases each side has now sent one.
        guard !self.isClosing else { return context.close(promise: nil) }
        self.sendClose(.normalClosure, context)
    }

    private func refuse(_ error: WebSocketError, _ context: ChannelHandlerContext) {
        self.finish(.failure(error))
        self.sendClose(error.code, context)
    }

    // MARK: - To the server

    private func sendClose(_ code: WebSocketErrorCode, _ context: ChannelHandlerContext) {
        var data = context.channel.allocator.buffer(capacity: 2)
        data.write(webSocketErrorCode: code)
        self.send(.connectionClose, Array(data.readableBytesView), context)
    }

    private func send(_ opcode: WebSocketOpcode, _ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(.toServer(opcode, bytes)), promise: nil)
    }

    // MARK: - To the waiting caller

    private func finish(_ end: Result<String, any Error>) {
        if self.end == nil { self.end = end }
        self.deliver()
    }

    private func deliver() {
        guard let promise = self.waiting else { return }
        if let message = self.messages.popFirst() {
            self.waiting = nil
            promise.succeed(.message(message))
        } else if let end = self.end {
            self.waiting = nil
            promise.completeWith(end.map(Received.end))
        }
        self.readIfThereIsRoom()
    }

    private func hasRoom(_ context: ChannelHandlerContext) -> Bool {
        self.messages.isEmpty && (context.channel.isWritable || self.isClosing)
    }

    private func readIfThereIsRoom() {
        guard self.hasPendingRead, let context = self.context, self.hasRoom(context) else { return }
        self.hasPendingRead = false
        context.read()
    }
}

extension WebSocketFrame {
    /// A complete frame to a server, which must be masked (RFC 6455 5.3).
    static func toServer(_ opcode: WebSocketOpcode, _ bytes: [UInt8]) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: ByteBuffer(bytes: bytes))
    }
}

/// Why a WebSocket connection cannot continue: the server violates the protocol, or sends too much.
enum WebSocketError: Error {
    case violation(String)
    case tooLarge(String)

    /// The status code of the close frame for this error (RFC 6455 7.4.1).
    var code: WebSocketErrorCode {
        switch self {
        case .violation: .protocolError
        case .tooLarge: .messageTooLarge
        }
    }
}

/// Assembles messages from a server's frames (RFC 6455 5).
struct WebSocketMessages {
    /// What a frame completes.
    enum Event: Equatable {
        /// A text or binary message.
        case message([UInt8])
        /// A ping, with the payload to send back.
        case ping([UInt8])
        /// The server closes the connection; the code and the reason are optional.
        case close(code: UInt16?, reason: String)
        /// Part of a message, or a pong.
        case none
    }

    /// The maximum size of a message, and of a frame.
    static let limit = 1 << 20

    /// The start of an incomplete message; nil between messages.
    private var start: [UInt8]?

    /// Adds the next frame.
    ///
    /// - Throws: The error in the frame.
    mutating func take(_ frame: WebSocketFrame) throws(WebSocketError) -> Event {
        guard frame.maskKey == nil else { throw .violation("the server masks its frames") }
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            throw .violation("the server sets a bit that belongs to an extension")
        }
        let bytes = Array(frame.data.readableBytesView)
        switch frame.opcode {
        case .ping: return .ping(bytes)
        case .pong: return .none
        case .connectionClose: return try self.close(bytes)
        case .continuation:
            guard let start = self.start else { throw .violation("the server continues a message that it never began") }
            return try self.join(start, bytes, isLast: frame.fin)
        case .text, .binary:
            guard self.start == nil else { throw .violation("the server begins a message inside another one") }
            return try self.join([], bytes, isLast: frame.fin)
        default: throw .violation("the server sends a frame with an unknown opcode")
        }
    }

    private mutating func join(_ start: [UInt8], _ bytes: [UInt8], isLast: Bool) throws(WebSocketError) -> Event {
        guard start.count + bytes.count <= Self.limit else { throw .tooLarge("a message has more than 1 MiB") }
        // Avoids copying the bytes that are already there.
        self.start = nil
        var message = start
        message += bytes
        if isLast { return .message(message) }
        self.start = message
        return .none
    }

    private func close(_ bytes: [UInt8]) throws(WebSocketError) -> Event {
        if bytes.isEmpty { return .close(code: nil, reason: "") }
        guard bytes.count >= 2 else { throw .violation("the server's close frame has half a code") }
        let code = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
        return .close(code: code, reason: String(decoding: bytes.dropFirst(2), as: UTF8.self))
    }
}
