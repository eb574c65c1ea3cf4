internal import NIOCore

/// Buffers unread bytes from a peer; at most a line and one read of the socket.
final class StreamReader: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// What the caller waits for.
    enum Wanted {
        /// Bytes up to a line feed, or up to the end.
        case line
        /// This number of bytes, or all bytes up to the end.
        case bytes(Int)
    }

    /// The limit of bufio.Scanner, which blackbox_exporter uses.
    static let maxLine = 65_536

    private var buffer = ByteBuffer()
    /// How the stream ended; nil while it is open.
    private var end: Result<Void, any Error>?
    private var waiting: (wanted: Wanted, promise: EventLoopPromise<[UInt8]?>)?
    /// True if the socket must be read once there is room.
    private var hasPendingRead = false
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// The next bytes, without the line end; nil at the end.
    func next(_ wanted: Wanted, on eventLoop: any EventLoop) -> EventLoopFuture<[UInt8]?> {
        let promise = eventLoop.makePromise(of: [UInt8]?.self)
        self.waiting = (wanted, promise)
        self.deliver()
        return promise.futureResult
    }

    /// The error of an ended stream, ``StreamError/closed`` for a normal end; nil while it is open.
    var failure: (any Error)? {
        switch self.end {
        case nil: nil
        case .success?: StreamError.closed
        case .failure(let error)?: error
        }
    }

    /// Discards unread bytes.
    func discard() {
        self.buffer.clear()
        self.readIfThereIsRoom()
    }

    /// Ends the stream, whatever the peer does.
    func fail(_ error: any Error) {
        self.finish(.failure(error))
        self.context?.close(promise: nil)
    }

    // MARK: - From the channel

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.buffer.discardReadBytes()
        self.buffer.writeBuffer(&bytes)
        self.deliver()
    }

    func read(context: ChannelHandlerContext) {
        if self.buffer.readableBytes > Self.maxLine { self.hasPendingRead = true } else { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { self.finish(.success(())) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.finish(.success(()))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.finish(StreamError.isEnd(error) ? .success(()) : .failure(error))
        context.close(promise: nil)
    }

    // MARK: - To the waiting caller

    private func finish(_ end: Result<Void, any Error>) {
        if self.end == nil { self.end = end }
        self.deliver()
    }

    private func deliver() {
        guard let (wanted, promise) = self.waiting else { return }
        let result: Result<[UInt8]?, any Error>? =
            if let bytes = self.take(wanted) {
                .success(bytes)
            } else if self.buffer.readableBytes > Self.maxLine {
                .failure(StreamError.lineTooLong)
            } else {
                self.end?.map { self.rest() }
            }
        if let result {
            self.waiting = nil
            promise.completeWith(result)
        }
        self.readIfThereIsRoom()
    }

    private func take(_ wanted: Wanted) -> [UInt8]? {
        switch wanted {
        case .bytes(let count): return self.buffer.readBytes(length: count)
        case .line:
            let view = self.buffer.readableBytesView
            guard let feed = view.firstIndex(of: 0x0A), feed - view.startIndex < Self.maxLine else { return nil }
            let line = Array(view[..<feed])
            self.buffer.moveReaderIndex(forwardBy: line.count + 1)
            return line.last == 0x0D ? line.dropLast() : line
        }
    }

    private func rest() -> [UInt8]? {
        let rest = self.buffer.readBytes(length: self.buffer.readableBytes) ?? []
        return rest.isEmpty ? nil : rest
    }

    private func readIfThereIsRoom() {
        guard self.hasPendingRead, self.buffer.readableBytes <= Self.maxLine else { return }
        self.hasPendingRead = false
        self.context?.read()
    }
}
