internal import NIOCore
internal import NIOHTTP1

/// Closes a connection whose request takes too long after its first byte, and manages its place in the table.
///
/// First in the pipeline, so it sees the bytes of handshakes, and closes without waiting for a closing handshake.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let table: ConnectionRegistry
    private let limit: TimeAmount
    private var number: UInt64?
    // The requests whose response has not been sent.
    private var waiting = 0
    // True from the head of a request to its end.
    private var isReading = false
    private var context: ChannelHandlerContext?
    private var deadline: Scheduled<Void>?

    /// How many requests may wait for their responses; no known client pipelines more.
    static let maxWaiting = 32

    // True between requests: the next byte starts a request.
    private var isIdle: Bool { self.waiting == 0 && !self.isReading }

    /// A handler for one connection; each request has `limit` to arrive.
    init(_ table: ConnectionRegistry, limit: TimeAmount) {
        self.table = table
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let closer = NIOLoopBound(self, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        self.number = self.table.admit(context.channel) { loop.execute { closer.value.close() } }
        // A handshake counts towards the time of the first request. Without a place, the time is already up.
        self.startDeadline(in: self.number == nil ? .zero : self.limit)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.cancelDeadline()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.isIdle, self.deadline == nil { self.startDeadline(in: self.limit) }
        context.fireChannelRead(data)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if let number, self.waiting > 0 {
            if context.channel.isWritable { self.noteActivity() } else { self.table.change(number) { $0.stall($1) } }
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: - Requests

    /// Records the head of a request; false if the request is one too many.
    func requestDidBegin() -> Bool {
        self.waiting += 1
        self.isReading = true
        return self.waiting <= Self.maxWaiting
    }

    /// Records the end of a request.
    func requestDidEnd() {
        self.isReading = false
        self.cancelDeadline()
        self.noteActivity()
    }

    /// Records that a response has been sent completely.
    func responseDidEnd() {
        // Bytes that are not a request also get a response.
        guard self.waiting > 0 else { return }
        self.waiting -= 1
        self.noteActivity()
    }

    private func noteActivity() {
        guard let number else { return }
        self.table.change(number) { places, number in
            if self.isIdle { return places.complete(number) }
            // Stalled: the client sends more before it reads, or sends a body that no handler waits for.
            self.waiting == 1 ? places.answer(number) : places.stall(number)
        }
    }

    /// Closes the connection without a closing handshake.
    func close() { self.context?.close(promise: nil) }

    // MARK: - Time

    private func startDeadline(in time: TimeAmount) {
        self.deadline = self.context?.eventLoop.assumeIsolated().scheduleTask(in: time) { self.close() }
    }

    private func cancelDeadline() {
        self.deadline?.cancel()
        self.deadline = nil
    }
}

/// Reports requests to the connection's ``ConnectionHandler``, and prepares their heads for the server.
final class RequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let connection: ConnectionHandler

    init(_ connection: ConnectionHandler) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            guard self.connection.requestDidBegin() else { return self.connection.close() }
            context.fireChannelRead(self.wrapInboundOut(.head(Self.normalized(head))))
        case .body: context.fireChannelRead(data)
        case .end:
            self.connection.requestDidEnd()
            context.fireChannelRead(data)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = self.unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let promise = promise ?? context.eventLoop.makePromise()
        promise.futureResult.assumeIsolated().whenSuccess { self.connection.responseDidEnd() }
        context.write(data, promise: promise)
    }

    /// The head in the form that the server expects.
    ///
    /// The server does not see the version, understands one spelling of `Connection: close`, and gets a host only if
    /// there is exactly one.
    static func normalized(_ head: HTTPRequestHead) -> HTTPRequestHead {
        var head = head
        if head.version.minor == 0 || !head.isKeepAlive || head.hasUnexpectedBody {
            head.headers.replaceOrAdd(name: "Connection", value: "close")
        }
        if head.headers["Host"].count != 1 { head.headers.remove(name: "Host") }
        return head
    }
}

extension HTTPRequestHead {
    /// True if the request has a body although its method allows none.
    fileprivate var hasUnexpectedBody: Bool {
        (self.method == .GET || self.method == .HEAD)
            && (self.headers.contains(name: "Transfer-Encoding")
                || self.headers[canonicalForm: "Content-Length"].contains { $0 != "0" })
    }
}
