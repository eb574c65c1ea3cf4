internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2
internal import NIOPosix
internal import NIOTLS
internal import TidegateCore
internal import TidegateNetwork

/// One call over HTTP/2, on its own connection.
///
/// Ends at the probe's deadline, whatever the server does.
struct GRPCCall: Sendable {
    /// The first stream that a client opens.
    static let stream = HTTP2StreamID(1)

    let fields: HPACKHeaders
    let message: [UInt8]
    /// The preceding TLS handshake; nil for none.
    let tls: TLSClient?

    /// A call in progress.
    struct Connection: Sendable {
        let channel: any Channel
        /// The connection's TLS handshake; nil for none.
        let handshake: EventLoopFuture<String?>?
        let health: EventLoopFuture<HealthMessage.ServingStatus>
    }

    /// Starts the call on an established connection.
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
        // Bytes after the handshake wait until HTTP/2 is set up.
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

    // Sets up HTTP/2, with a stream for the call.
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

/// Makes the call on its own stream, and completes a promise with the health in the response.
final class GRPCCallHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let fields: HPACKHeaders
    private let message: [UInt8]
    private let promise: EventLoopPromise<HealthMessage.ServingStatus>
    private var answer = GRPCAnswer()

    init(_ fields: HPACKHeaders, _ message: [UInt8], _ promise: EventLoopPromise<HealthMessage.ServingStatus>) {
        (self.fields, self.message, self.promise) = (fields, message, promise)
    }

    func channelActive(context: ChannelHandlerContext) {
        context.write(self.wrapOutboundOut(.headers(.init(headers: self.fields))), promise: nil)
        context.writeAndFlush(
            self.wrapOutboundOut(.data(.init(data: .byteBuffer(ByteBuffer(bytes: self.message)), endStream: true))),
            promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do throws(GRPCError) {
            switch self.unwrapInboundIn(data) {
            case .headers(let frame):
                let health = try self.answer.receive(frame.headers, isEnd: frame.endStream)
                if let health { self.promise.succeed(health) }
            case .data(let frame):
                guard case .byteBuffer(let bytes) = frame.data else { return }
                try self.answer.receive(bytes.readableBytesView)
                if frame.endStream { throw .malformed("ended without a status") }
            case .rstStream(let code): throw .reset(code)
            default: break
            }
        } catch {
            self.promise.fail(error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The end of the connection, or an earlier message of its server, is more informative.
        let promise = self.promise
        context.eventLoop.execute {
            promise.fail(error is any NIOHTTP2Error ? GRPCError.malformed("breaks the rules of HTTP/2") : error)
        }
    }
}

/// Fails the promise of a call if its connection ends first.
final class GRPCConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let promise: EventLoopPromise<HealthMessage.ServingStatus>
    private var refusal: HTTP2ErrorCode?

    init(_ promise: EventLoopPromise<HealthMessage.ServingStatus>) { self.promise = promise }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .goAway(let last, let code, _) = self.unwrapInboundIn(data).payload else { return }
        self.refusal = code
        // The server still answers calls that it accepted before.
        if last < GRPCCall.stream { self.promise.fail(GRPCError.goAway(code)) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !StreamError.isEnd(error) { self.promise.fail(error is any NIOHTTP2Error ? GRPCError.notHTTP2 : error) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.promise.fail(self.refusal.map(GRPCError.goAway) ?? GRPCError.closed)
        context.fireChannelInactive()
    }
}

/// The response to a call with one message, as far as received (gRPC over HTTP/2, "Responses").
struct GRPCAnswer {
    /// The maximum size of a message; a health status takes two bytes.
    static let maxMessage = 65_536
    /// How many bytes of a server's message are kept.
    private static let maxText = 200
    private static let prefix = 5

    private var status: Int?
    private var bytes: [UInt8] = []

    /// Adds a header section; returns the health once the response is complete.
    mutating func receive(
        _ fields: HPACKHeaders, isEnd: Bool
    ) throws(GRPCError) -> HealthMessage.ServingStatus? {
        if self.status == nil {
            let status = Int(fields.first(name: ":status") ?? "") ?? 0
            guard status >= 200 || isEnd else { return nil }
            guard Self.isGRPC(fields) else { throw .http(status) }
            self.status = status
        }
        return isEnd ? try self.conclude(fields) : nil
    }

    /// Adds a part of the body.
    mutating func receive(_ part: some Sequence<UInt8>) throws(GRPCError) {
        self.bytes += part
        guard let length = self.length else { return }
        guard self.bytes[0] == 0 else { throw .malformed("is compressed, which was not asked for") }
        guard length <= Self.maxMessage else { throw .tooLarge }
        guard self.bytes.count <= length + Self.prefix else { throw .malformed("has more than one message") }
    }

    // The length of the message, once received.
    private var length: Int? {
        guard self.bytes.count >= Self.prefix else { return nil }
        return self.bytes[1..<Self.prefix].reduce(0) { $0 << 8 | Int($1) }
    }

    private func conclude(_ fields: HPACKHeaders) throws(GRPCError) -> HealthMessage.ServingStatus {
        guard let field = fields.first(name: "grpc-status") else { throw .http(self.status ?? 0) }
        let status = GRPCStatus(field: field)
        guard status == .ok else {
            throw .status(status, message: Self.text(fields.first(name: "grpc-message") ?? ""))
        }
        guard let length = self.length, self.bytes.count == length + Self.prefix else {
            throw .malformed(self.bytes.isEmpty ? "has no message" : "ended in the middle of its message")
        }
        guard let health = HealthMessage.status(in: Array(self.bytes[Self.prefix...])) else {
            throw .malformed("is no HealthCheckResponse")
        }
        return health
    }

    private static func isGRPC(_ fields: HPACKHeaders) -> Bool {
        let (type, value) = ("application/grpc", fields.first(name: "content-type")?.lowercased() ?? "")
        guard value.hasPrefix(type) else { return false }
        return value.count == type.count || "+;".contains(value[value.index(value.startIndex, offsetBy: type.count)])
    }

    // The field `grpc-message`: UTF-8 with percent-encoded bytes.
    private static func text(_ field: String) -> String {
        let text = String(decoding: PercentEncoding.decode(field), as: UTF8.self).map {
            $0.isNewline || $0.isWhitespace ? " " : $0
        }
        return String(
            text.filter { $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } }
                .prefix(Self.maxText))
    }
}
