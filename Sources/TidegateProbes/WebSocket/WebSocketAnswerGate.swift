internal import NIOCore

/// Passes on the header of a server's answer, and keeps what comes behind it, the end included, until frames are read.
///
/// A server may say everything that it has to say, and close the connection, in the packet of its answer.
final class WebSocketAnswerGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum State {
        /// The answer's header has not ended.
        case header
        /// It has; what follows is kept.
        case shut
        /// What comes is passed on.
        case open
        /// What comes is of no interest.
        case discarding
    }

    static let overflow = WebSocketError.tooLarge("the header of the server's answer is too long")
    private static let limit = 65_536

    private var state = State.header
    private var buffer = ByteBuffer()
    /// How much was passed on so far: answers that only announce another one (1xx) may come without end.
    private var passed = 0
    /// Where the header cannot end before.
    private var searched = 0
    private var isEnded = false
    private var failure: (any Error)?
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Drops what comes.
    func discard() {
        self.state = .discarding
        self.buffer.clear()
    }

    /// Passes on what was kept, and what comes.
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
                // What it is, the decoder says.
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

    // Up to an empty line; nil if there is none.
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
        // The line's end may be cut in two.
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
