internal import NIOCore
internal import NIOHTTP1

/// Tells the connection's ``ConnectionHandler`` of its requests, and says in their heads what the server needs to know.
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

    /// The head as the server understands it: it knows no version, one spelling of `Connection: close`, and the host only
    /// if there is one.
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
    /// True if the method has no body, and the request has one.
    fileprivate var hasUnexpectedBody: Bool {
        (self.method == .GET || self.method == .HEAD)
            && (self.headers.contains(name: "Transfer-Encoding")
                || self.headers[canonicalForm: "Content-Length"].contains { $0 != "0" })
    }
}
