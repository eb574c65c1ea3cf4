internal import NIOCore
internal import NIOTLS
internal import TidegateCore
internal import TidegateNetwork

/// Sends a question over TCP once the connection stands, and completes a promise with the reply to it.
final class DNSReplyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let exchange: DNSExchange
    private let promise: EventLoopPromise<DNSReply>
    private let progress: DNSExchange.Progress
    private var isSent = false
    private var received: [UInt8] = []

    init(_ exchange: DNSExchange, _ promise: EventLoopPromise<DNSReply>, _ progress: DNSExchange.Progress) {
        self.exchange = exchange
        self.promise = promise
        self.progress = progress
    }

    func channelActive(context: ChannelHandlerContext) {
        if self.exchange.tls != nil { return self.progress.enter(.tls) }
        self.send(context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { self.send(context) }
    }

    private func send(_ context: ChannelHandlerContext) {
        guard !self.isSent else { return }
        self.isSent = true
        self.progress.enter(.response)
        let question = self.exchange.question
        var buffer = context.channel.allocator.buffer(capacity: question.count + 2)
        buffer.writeInteger(UInt16(clamping: question.count))
        buffer.writeBytes(question)
        context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Each message comes after its length (RFC 1035 4.2.2), which bounds what is kept.
        self.received += Array(self.unwrapInboundIn(data).readableBytesView)
        guard self.received.count >= 2 else { return }
        let length = Int(self.received[0]) << 8 | Int(self.received[1])
        guard self.received.count >= length + 2 else { return }
        guard let reply = self.exchange.reply(in: Array(self.received[2..<length + 2])) else {
            return self.promise.fail(DNSExchange.Failure.malformed)
        }
        self.promise.succeed(reply)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The handshake's own end says why it failed.
        if self.exchange.tls == nil || self.isSent { self.promise.fail(error) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if self.exchange.tls == nil || self.isSent { self.promise.fail(DNSExchange.Failure.closed) }
    }
}
