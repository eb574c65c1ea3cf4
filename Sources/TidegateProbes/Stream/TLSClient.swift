internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// The client side of one TLS handshake.
///
/// libcrypto verifies the certificates, as for requests: names and addresses are treated alike, and the server's chain
/// is known even if it is not trusted.
final class TLSClient: Sendable {
    private let context: NIOSSLContext
    /// The server name to send; nil for an address (RFC 6066 3).
    private let name: String?
    private let verifier: CertificateVerifier
    private let verified = Mutex<CertificateVerifier.Result?>(nil)

    /// A client for `host` that offers the given protocols (RFC 7301).
    ///
    /// If `host` is nil, the certificate may be for any name. Without protocols none are negotiated.
    /// - Throws: For an unusable file.
    init(_ options: ProbeTLSOptions, host: String?, protocols: [String] = []) throws(TextError) {
        let host = options.serverName ?? host
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = options.versions.lowerBound.ofNIO
        configuration.maximumTLSVersion = options.versions.upperBound.ofNIO
        configuration.applicationProtocols = protocols
        configuration.shutdownTimeout = .seconds(1)
        // The verifier also checks names and addresses; with verification switched off it would not be called.
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        let authorities = try options.authorities()
        if let identity = try options.identity() {
            do {
                configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(identity.certificate)
                    .map { .certificate($0) }
                configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: identity.key, format: .pem))
            } catch {
                throw TextError("the client certificate of tls_config, or its key, is of a kind that cannot be used")
            }
        }
        self.context = try Result { try NIOSSLContext(configuration: configuration) }
            .mapError { _ in TextError("the certificates of tls_config cannot be used") }.get()
        self.name = host.flatMap { IPAddress($0) == nil && !$0.isEmpty ? $0 : nil }
        self.verifier = CertificateVerifier(authorities: authorities, host: host, isInsecure: options.isInsecure)
    }

    /// Starts the handshake at the front of a pipeline; returns the TLS version once it has ended.
    func start(in pipeline: ChannelPipeline.SynchronousOperations) throws -> EventLoopFuture<String?> {
        let handler = try NIOSSLClientHandler(context: self.context, serverHostname: self.name) {
            [self] sent, promise in
            // Omitting one certificate would let the next one be verified in its place.
            let result = (try? sent.map { try $0.toDERBytes() }).flatMap(self.verifier.verify)
            self.verified.withLock { $0 = result }
            promise.succeed(result != nil && result?.problem == nil ? .certificateVerified : .failed)
        }
        let done = pipeline.eventLoop.makePromise(of: String?.self)
        let observer = HandshakeObserver(done, of: handler)
        // Added after the handler, which may start immediately when it is added.
        do {
            try pipeline.addHandler(observer, position: .first)
            try pipeline.addHandler(handler, position: .first)
        } catch {
            observer.fail(error)
            throw error
        }
        return done.futureResult
    }

    /// Why the server's certificate is not accepted; nil if it is, or if the server sent no certificate.
    var problem: String? { self.verified.withLock { $0?.problem } }

    /// The server's certificate chain, after a handshake.
    ///
    /// - Throws: ``StreamError/certificate(_:)`` if the certificate is not accepted.
    func chain(after handshake: EventLoopFuture<String?>) async throws -> CertificateChain? {
        let version: String?
        do {
            version = try await handshake.get()
        } catch {
            throw self.problem.map(StreamError.certificate) ?? error
        }
        var chain = self.verified.withLock { $0?.chain }
        chain?.version = version ?? ""
        return chain
    }
}

/// Completes a promise with the TLS version when a handshake ends.
private final class HandshakeObserver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The version names of OpenSSL and Go, which differ only in a space.
    private static let names: [NIOSSL.TLSVersion: String] = [
        .tlsv1: "TLSv1.0", .tlsv11: "TLSv1.1", .tlsv12: "TLSv1.2", .tlsv13: "TLSv1.3",
    ]

    private weak var handler: NIOSSLHandler?
    private var promise: EventLoopPromise<String?>?

    init(_ promise: EventLoopPromise<String?>, of handler: NIOSSLHandler) {
        (self.promise, self.handler) = (promise, handler)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent {
            self.finish(.success(self.handler?.tlsVersion.flatMap { Self.names[$0] }))
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.finish(.failure(error))
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.finish(.failure(StreamError.closed))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.finish(.failure(StreamError.closed)) }

    /// Fails the handshake before it starts.
    func fail(_ error: any Error) { self.finish(.failure(error)) }

    private func finish(_ result: Result<String?, any Error>) {
        self.promise?.completeWith(result)
        self.promise = nil
    }
}

extension TidegateCore.TLSVersion {
    fileprivate var ofNIO: NIOSSL.TLSVersion {
        switch self {
        case .v1_0: .tlsv1
        case .v1_1: .tlsv11
        case .v1_2: .tlsv12
        case .v1_3: .tlsv13
        }
    }
}
