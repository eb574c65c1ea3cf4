internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// A server of HTTP/2, plain or over TLS, that does with every call what a test says.
package final class GRPCServer: Sendable {
    /// A call, when all of it has come.
    package struct Call: Sendable, Equatable {
        /// Its header fields, pseudo-header fields included; of several with a name the last one.
        package var fields: [String: String] = [:]
        /// Its body: messages, each behind its length.
        package var body: [UInt8] = []
    }

    /// What it does with a call.
    package enum Action: Sendable {
        /// Sends a head, a body in parts and trailers; without trailers the last of the others is the end.
        case answer(_ head: [Field], body: [[UInt8]] = [], trailers: [Field]? = nil)
        /// Sends these bytes on the connection, behind its settings; repeats them if `isEndless`.
        case raw([UInt8], isEndless: Bool = false)
        /// Says nothing.
        case ignore
        /// Ends the connection in order, however much of what the client sends is still to be read.
        case close

        /// An answer of the health service: a HealthCheckResponse and the status OK.
        package static func health(_ status: UInt8) -> Action {
            .message(status == 0 ? [] : [0x08, status])
        }

        /// An answer with a message and the status OK.
        package static func message(_ message: [UInt8], flag: UInt8 = 0, status: String = "0") -> Action {
            .answer(
                GRPCServer.head, body: [[flag, 0, 0, 0, UInt8(message.count)], message],
                trailers: [("grpc-status", status)])
        }

        /// An answer that is only a status.
        package static func status(_ status: String, _ message: String? = nil) -> Action {
            .answer(GRPCServer.head + [("grpc-status", status)] + (message.map { [("grpc-message", $0)] } ?? []))
        }
    }

    /// A header field.
    package typealias Field = (name: String, value: String)

    /// The head of an answer of gRPC.
    package static let head: [Field] = [(":status", "200"), ("content-type", "application/grpc")]

    /// The port it listens on.
    package let port: UInt16
    private let listener: any Channel
    private let received: ReceivedCalls

    /// The calls that came, in order.
    package var calls: [Call] { self.received.calls.withLock { $0 } }

    /// Listens on an address.
    package init(
        address: String = "127.0.0.1", identity: TestAuthority.Identity? = nil,
        _ action: @escaping @Sendable (Call) -> Action
    ) async throws {
        let received = ReceivedCalls()
        self.received = received
        let tls = try identity.map(Self.context)
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.addHandler(
                        NIOHTTP2Handler(mode: .server, eventLoop: channel.eventLoop) { stream in
                            stream.eventLoop.makeCompletedFuture {
                                try stream.pipeline.syncOperations.addHandler(GRPCServerHandler(received, action))
                            }
                        })
                    try pipeline.addHandler(ClosingHandler())
                }
            }
            .bind(host: address, port: 0).get()
        self.listener = listener
        self.port = UInt16(listener.localAddress?.port ?? 0)
    }

    deinit { self.listener.close(promise: nil) }

    /// A frame of HTTP/2 (RFC 9113 4.1).
    package static func frame(type: UInt8, flags: UInt8 = 0, stream: UInt8 = 1, _ payload: [UInt8] = []) -> [UInt8] {
        [0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF), type, flags, 0, 0, 0, stream] + payload
    }

    private static func context(_ identity: TestAuthority.Identity) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem)))
        configuration.applicationProtocols = ["h2"]
        return try NIOSSLContext(configuration: configuration)
    }
}

private final class ReceivedCalls: Sendable {
    let calls = Mutex<[GRPCServer.Call]>([])
}

private final class ClosingHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

private final class GRPCServerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let received: ReceivedCalls
    private let action: @Sendable (GRPCServer.Call) -> GRPCServer.Action
    private var call = GRPCServer.Call()

    init(_ received: ReceivedCalls, _ action: @escaping @Sendable (GRPCServer.Call) -> GRPCServer.Action) {
        (self.received, self.action) = (received, action)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let isEnd: Bool
        switch self.unwrapInboundIn(data) {
        case .headers(let frame):
            for field in frame.headers { self.call.fields[field.name] = field.value }
            isEnd = frame.endStream
        case .data(let frame):
            guard case .byteBuffer(let bytes) = frame.data else { return }
            self.call.body += bytes.readableBytesView
            isEnd = frame.endStream
        default: return
        }
        guard isEnd else { return }
        self.received.calls.withLock { $0.append(self.call) }
        self.perform(self.action(self.call), context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func perform(_ action: GRPCServer.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .ignore: break
        case .close: context.channel.parent?.close(mode: .output, promise: nil)
        case .raw(let bytes, let isEndless):
            guard let parent = context.channel.parent,
                let handler = try? parent.pipeline.syncOperations.context(handlerType: NIOHTTP2Handler.self)
            else { return }
            // A flood of short writes would keep the loop from everything else.
            let count = isEndless ? 1 + 65_536 / bytes.count : 1
            let chunk = ByteBuffer(bytes: Array(repeatElement(bytes, count: count).joined()))
            Self.send(chunk, isEndless: isEndless, below: handler)
        case .answer(let head, let body, let trailers):
            let isOnlyHead = body.isEmpty && trailers == nil
            self.write(
                .headers(.init(headers: HPACKHeaders(head.map { ($0.name, $0.value) }), endStream: isOnlyHead)), context
            )
            for (number, part) in body.enumerated() {
                let isEnd = trailers == nil && number == body.count - 1
                self.write(.data(.init(data: .byteBuffer(ByteBuffer(bytes: part)), endStream: isEnd)), context)
            }
            if let trailers {
                self.write(
                    .headers(.init(headers: HPACKHeaders(trailers.map { ($0.name, $0.value) }), endStream: true)),
                    context)
            }
            context.flush()
        }
    }

    private func write(_ payload: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext) {
        context.write(self.wrapOutboundOut(payload), promise: nil)
    }

    // Behind the handler's own frames, which it does not know of.
    private static func send(_ bytes: ByteBuffer, isEndless: Bool, below context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let promise = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(NIOAny(bytes), promise: promise)
        guard isEndless else { return }
        promise.futureResult.whenSuccess {
            bound.value.eventLoop.scheduleTask(in: .milliseconds(1)) {
                Self.send(bytes, isEndless: true, below: bound.value)
            }
        }
    }
}
