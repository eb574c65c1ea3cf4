internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// Makes the call on a stream of its own, and completes a promise with the health in the answer.
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
        // That the connection ended, or what its server said before, counts more.
        let promise = self.promise
        context.eventLoop.execute {
            promise.fail(error is any NIOHTTP2Error ? GRPCError.malformed("breaks the rules of HTTP/2") : error)
        }
    }
}

/// Completes the promise of a call when its connection ends before.
final class GRPCConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let promise: EventLoopPromise<HealthMessage.ServingStatus>
    private var refusal: HTTP2ErrorCode?

    init(_ promise: EventLoopPromise<HealthMessage.ServingStatus>) { self.promise = promise }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .goAway(let last, let code, _) = self.unwrapInboundIn(data).payload else { return }
        self.refusal = code
        // Calls that it takes are still answered.
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
