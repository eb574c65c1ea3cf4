internal import Glibc
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Closes connections of clients whose certificate has none of the allowed names.
final class ClientNameHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    private let allowed: Set<String>
    private var isAllowed = false

    init(_ allowed: Set<String>) { self.allowed = allowed }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
            self.isAllowed = certificate.map { !self.allowed.isDisjoint(with: $0.alternativeNames) } ?? false
            if !self.isAllowed { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A request can arrive in the same segment as the end of the handshake.
        if self.isAllowed { context.fireChannelRead(data) }
    }
}

extension NIOSSLCertificate {
    /// The subject alternative names that are texts: DNS names, addresses, e-mail addresses and URIs.
    fileprivate var alternativeNames: [String] {
        self._subjectAlternativeNames().compactMap { name in
            switch name.nameType {
            case .dnsName, .email, .uri: String(validating: name.contents, as: UTF8.self)
            case .ipAddress: Self.address(Array(name.contents))
            default: nil
            }
        }
    }

    private static func address(_ bytes: [UInt8]) -> String? {
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
