internal import NIOCore

/// Stands at the beginning of a connection until its first bytes have come, and lets them through as the policy of
/// that moment wants: as they are, or decrypted.
///
/// Whoever connects is served the certificate that is there then, without a restart and without a file being read on
/// the thread that all share.
final class TLSDetectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        /// Nothing has come yet.
        case shut
        /// The policy is asked for; these bytes have come.
        case asking([ByteBuffer])
        /// Everything goes through.
        case open
    }

    // The first byte of a handshake (RFC 8446 5.1).
    private static let handshake: UInt8 = 22

    private let desk: AccessController
    private var state = State.shut
    private var isReadWanted = false
    private var isInputClosed = false

    init(_ desk: AccessController) { self.desk = desk }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.state {
        case .shut:
            self.state = .asking([self.unwrapInboundIn(data)])
            self.desk.access(on: context.eventLoop).assumeIsolated().whenComplete { result in
                self.open(for: result, context: context)
            }
        case .asking(let buffers): self.state = .asking(buffers + [self.unwrapInboundIn(data)])
        case .open: context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !self.isAsking { context.fireChannelReadComplete() }
    }

    func read(context: ChannelHandlerContext) {
        // A client may not fill the memory while a file is read.
        guard self.isAsking else { return context.read() }
        self.isReadWanted = true
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard self.isAsking, case .inputClosed? = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        self.isInputClosed = true
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.state = .open
        context.fireChannelInactive()
    }

    private var isAsking: Bool {
        if case .asking = self.state { true } else { false }
    }
    // MARK: - Opening

    private func open(for result: Result<Access, any Error>, context: ChannelHandlerContext) {
        guard case .asking(let buffers) = self.state else { return }
        self.state = .open
        guard case .success(let access) = result else { return context.close(promise: nil) }
        if let tls = access.tls {
            guard Self.beginsHandshake(buffers) else { return self.refuse(context) }
            do {
                try context.pipeline.syncOperations.addHandlers(tls.handlers(), position: .after(self))
            } catch {
                return context.close(promise: nil)
            }
        }
        for buffer in buffers { context.fireChannelRead(self.wrapInboundOut(buffer)) }
        context.fireChannelReadComplete()
        if self.isInputClosed { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        if self.isReadWanted { context.read() }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private static func beginsHandshake(_ buffers: [ByteBuffer]) -> Bool {
        buffers.first { $0.readableBytes > 0 }?.readableBytesView.first == self.handshake
    }

    // What Go's servers say: whoever forgot the s of https should see why nothing works.
    private func refuse(_ context: ChannelHandlerContext) {
        let words = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: words)), promise: nil)
        context.close(promise: nil)
    }
}
