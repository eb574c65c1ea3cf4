internal import NIOCore

/// Holds back the first bytes of a connection until the access policy is known, then forwards them.
///
/// If the policy has a certificate, the bytes are decrypted. A new connection gets the certificate that is on disk at
/// that moment, without a restart and without reading a file on the event loop.
final class TLSDetectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        /// No bytes yet.
        case idle
        /// The policy is being loaded; these bytes have arrived.
        case loading([ByteBuffer])
        /// Everything is forwarded.
        case passing
    }

    // The first byte of a handshake (RFC 8446 5.1).
    private static let handshake: UInt8 = 22

    private let access: AccessController
    private var state = State.idle
    private var isReadPending = false
    private var isInputClosed = false

    init(_ access: AccessController) { self.access = access }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.state {
        case .idle:
            self.state = .loading([self.unwrapInboundIn(data)])
            self.access.currentPolicy(on: context.eventLoop).assumeIsolated().whenComplete { result in
                self.open(for: result, context: context)
            }
        case .loading(let buffers): self.state = .loading(buffers + [self.unwrapInboundIn(data)])
        case .passing: context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !self.isLoading { context.fireChannelReadComplete() }
    }

    func read(context: ChannelHandlerContext) {
        // A client must not fill the memory while the policy is being loaded.
        guard self.isLoading else { return context.read() }
        self.isReadPending = true
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard self.isLoading, case .inputClosed? = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        self.isInputClosed = true
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.state = .passing
        context.fireChannelInactive()
    }

    private var isLoading: Bool {
        if case .loading = self.state { true } else { false }
    }

    // MARK: - Passing on

    private func open(for result: Result<LoadedAccessPolicy, any Error>, context: ChannelHandlerContext) {
        guard case .loading(let buffers) = self.state else { return }
        self.state = .passing
        guard case .success(let policy) = result else { return context.close(promise: nil) }
        if let tls = policy.tls {
            let first = buffers.first { $0.readableBytes > 0 }?.readableBytesView.first
            guard first == Self.handshake else { return self.refuse(context) }
            do {
                try context.pipeline.syncOperations.addHandlers(tls.handlers(), position: .after(self))
            } catch {
                return context.close(promise: nil)
            }
        }
        for buffer in buffers { context.fireChannelRead(self.wrapInboundOut(buffer)) }
        context.fireChannelReadComplete()
        if self.isInputClosed { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        if self.isReadPending { context.read() }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    // As in Go's servers, a client that speaks HTTP to an HTTPS port gets the reason.
    private func refuse(_ context: ChannelHandlerContext) {
        let response = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: response)), promise: nil)
        context.close(promise: nil)
    }
}
