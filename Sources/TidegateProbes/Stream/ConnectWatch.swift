internal import NIOCore
internal import NIOPosix

/// The kernel refused a connection in the very call that asked for it (connect(2)), so that nobody else has said anything.
struct ImmediateRefusal: Error {
    let error: IOError
}

/// Tells what the kernel refuses at once, as an ``ImmediateRefusal``, from what is refused later.
final class ConnectWatch: ChannelOutboundHandler {
    typealias OutboundIn = Never

    private var isCalling = false

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        let attempt = context.eventLoop.makePromise(of: Void.self)
        attempt.futureResult.assumeIsolated().whenComplete { result in
            let refusal = self.isCalling ? result.failure as? IOError : nil
            promise?.completeWith(refusal.map { .failure(ImmediateRefusal(error: $0)) } ?? result)
        }
        self.isCalling = true
        context.connect(to: address, promise: attempt)
        self.isCalling = false
    }
}

extension Result {
    /// Why there is no value; nil if there is one.
    fileprivate var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
