internal import NIOCore
internal import NIOTLS
internal import TidegateCore
internal import TidegateNetwork

/// Sends a question once the connection stands, and completes a promise with the reply to it.
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
        // A datagram channel that was bound is active before it is connected.
        if context.channel.remoteAddress != nil { self.send(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { self.send(context) }
        if event is DatagramConnected { self.send(context) }
    }

    private func send(_ context: ChannelHandlerContext) {
        guard !self.isSent else { return }
        self.isSent = true
        self.progress.enter(.response)
        let question = self.exchange.question
        var buffer = context.channel.allocator.buffer(capacity: question.count + 2)
        if self.exchange.transport == .tcp { buffer.writeInteger(UInt16(clamping: question.count)) }
        buffer.writeBytes(question)
        context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Array(self.unwrapInboundIn(data).readableBytesView)
        guard self.exchange.transport == .udp else { return self.readStream(bytes) }
        // Until it was connected, the socket took datagrams from anybody.
        guard self.isSent else { return }
        // Anybody can send a datagram that seems to come from the server: one that does not fit ends nothing.
        guard let reply = self.reply(in: bytes) else { return self.progress.receiveJunk() }
        self.promise.succeed(reply)
    }

    // Each message comes after its length (RFC 1035 4.2.2), which bounds what is kept.
    private func readStream(_ bytes: [UInt8]) {
        self.received += bytes
        guard self.received.count >= 2 else { return }
        let length = Int(self.received[0]) << 8 | Int(self.received[1])
        guard self.received.count >= length + 2 else { return }
        guard let reply = self.reply(in: Array(self.received[2..<length + 2])) else {
            return self.promise.fail(DNSExchange.Failure.malformed)
        }
        self.promise.succeed(reply)
    }

    private func reply(in bytes: [UInt8]) -> DNSReply? {
        guard let reply = DNSReply(bytes), reply.id == self.exchange.id else { return nil }
        return reply.isAbout(self.exchange.question) ? reply : nil
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

/// A datagram channel that was bound to an address is connected now.
struct DatagramConnected {}

/// Passes on what datagrams carry; a connected socket receives from one address only.
final class DatagramContent: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias InboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(self.wrapInboundOut(self.unwrapInboundIn(data).data))
    }
}
