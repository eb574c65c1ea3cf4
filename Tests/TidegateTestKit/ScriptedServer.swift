internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// A server that does the same with every connection, step by step, and closes it after the last one.
package final class ScriptedServer: Sendable {
    /// What it does.
    package enum Step: Sendable {
        /// Sends a text unchanged.
        case send(String)
        /// Sends a text again and again, as fast as the client reads it.
        case flood(String)
        /// Waits for a line.
        case readLine
        /// Waits for anything, and takes what has come.
        case read
        /// Encrypts what follows.
        case startTLS
        /// Waits for the end.
        case hang
        /// Closes the connection with a reset.
        case reset
    }

    /// The port; 0 for a Unix socket.
    package let port: UInt16
    private let listener: any Channel
    private let received: Received

    /// The lines that were read, in order, of all connections.
    package var lines: [String] { self.received.lines.withLock { $0 } }

    /// The addresses that connections came from, in order.
    package var peers: [String] { self.received.peers.withLock { $0 } }

    /// Listens on an address, or on a Unix socket if `path` is one.
    package init(
        _ steps: [Step], address: String = "127.0.0.1", path: String? = nil, identity: TestAuthority.Identity? = nil
    ) async throws {
        let received = Received()
        self.received = received
        let tls = try identity.map { identity in
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
                    privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem))))
        }
        let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup).childChannelInitializer {
            channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(ScriptHandler(steps, tls, received))
            }
        }
        let listener =
            if let path { try await bootstrap.bind(unixDomainSocketPath: path).get() } else {
                try await bootstrap.bind(host: address, port: 0).get()
            }
        self.listener = listener
        self.port = UInt16(listener.localAddress?.port ?? 0)
    }

    deinit { self.listener.close(promise: nil) }
}

private final class Received: Sendable {
    let lines = Mutex<[String]>([])
    let peers = Mutex<[String]>([])
}

private final class ScriptHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var steps: ArraySlice<ScriptedServer.Step>
    private let tls: NIOSSLContext?
    private let received: Received
    private var buffer = ByteBuffer()

    init(_ steps: [ScriptedServer.Step], _ tls: NIOSSLContext?, _ received: Received) {
        (self.steps, self.tls, self.received) = (steps[...], tls, received)
    }

    func channelActive(context: ChannelHandlerContext) {
        if let peer = context.remoteAddress?.ipAddress { self.received.peers.withLock { $0.append(peer) } }
        self.advance(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.buffer.writeBuffer(&bytes)
        self.advance(context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func advance(_ context: ChannelHandlerContext) {
        while let step = self.steps.first {
            switch step {
            case .send(let text): context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            case .flood(let text): return self.flood(text, context)
            case .readLine:
                guard let feed = self.buffer.readableBytesView.firstIndex(of: 0x0A) else { return }
                let line = self.buffer.readString(length: feed - self.buffer.readerIndex) ?? ""
                self.buffer.moveReaderIndex(forwardBy: 1)
                self.received.lines.withLock { $0.append(line) }
            case .read:
                guard self.buffer.readableBytes > 0 else { return }
                self.buffer.clear()
            case .startTLS:
                guard let tls = self.tls else { return context.close(promise: nil) }
                self.steps.removeFirst()
                try? context.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls), position: .first)
                continue
            case .hang: return
            case .reset:
                (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                    .whenComplete { _ in }
                return context.close(promise: nil)
            }
            self.steps.removeFirst()
        }
        context.close(promise: nil)
    }

    private func flood(_ text: String, _ context: ChannelHandlerContext) {
        let (bound, handler) = (
            NIOLoopBound(context, eventLoop: context.eventLoop), NIOLoopBound(self, eventLoop: context.eventLoop)
        )
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: text))).whenSuccess {
            // A write may be done at once: without a turn of the loop the stack would grow with each.
            bound.eventLoop.execute { handler.value.flood(text, bound.value) }
        }
    }
}
