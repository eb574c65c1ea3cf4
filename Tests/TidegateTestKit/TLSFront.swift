internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// Speaks TLS in front of a plain server on loopback.
package final class TLSFront: Sendable {
    /// The port.
    package let port: UInt16
    private let listener: any Channel

    /// Listens on an address; with an authority it requires certificates that this one has signed.
    package init(
        _ identity: TestAuthority.Identity, to port: UInt16, clientsOf authority: TestAuthority? = nil,
        protocols: [String] = [], address: (host: String, port: Int) = ("127.0.0.1", 0)
    ) async throws {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem)))
        configuration.applicationProtocols = protocols
        if let authority {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .file(authority.certificate)
        }
        let tls = try NIOSSLContext(configuration: configuration)
        let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in Self.connect(channel, to: port, tls) }
        self.listener = try await bootstrap.bind(host: address.host, port: address.port).get()
        self.port = UInt16(self.listener.localAddress?.port ?? 0)
    }

    deinit { self.listener.close(promise: nil) }

    // Nothing is read before both ends are there.
    private static func connect(
        _ channel: any Channel, to port: UInt16, _ tls: NIOSSLContext
    ) -> EventLoopFuture<Void> {
        ClientBootstrap(group: channel.eventLoop).channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: Int(port))
            .flatMap { server in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    try pipeline.addHandler(ForwardingHandler(to: server))
                    try server.pipeline.syncOperations.addHandler(ForwardingHandler(to: channel))
                }
                .flatMap { server.setOption(.autoRead, value: true) }
                .flatMap { channel.setOption(.autoRead, value: true) }
            }
    }
}

private final class ForwardingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let peer: any Channel

    init(to peer: any Channel) { self.peer = peer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.peer.writeAndFlush(self.unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.peer.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
