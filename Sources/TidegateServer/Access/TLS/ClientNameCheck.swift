internal import Glibc
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Ends connections of clients whose certificate has none of the names that are let in.
final class ClientNameCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    private let allowed: Set<String>
    private var isAdmitted = false

    init(_ allowed: Set<String>) { self.allowed = allowed }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
            self.isAdmitted = certificate.map { !self.allowed.isDisjoint(with: $0.alternativeNames) } ?? false
            if !self.isAdmitted { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What comes together with the end of the handshake is no request of a guest.
        if self.isAdmitted { context.fireChannelRead(data) }
    }
}

extension NIOSSLCertificate {
    /// The names of a certificate that can be written as a text: DNS names, addresses, e-mail addresses and URIs.
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
