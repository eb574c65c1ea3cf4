internal import Glibc
internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import TidegateCore

/// The state shared by all TLS connections under one policy.
struct TLSContext: Sendable {
    private let context: NIOSSLContext
    private let client: TLSServerConfiguration.ClientCertificate
    private let allowedNames: Set<String>?

    /// True if every client must have a certificate signed by an authority of the policy.
    var verifiesClients: Bool { self.client == .requiredAndVerified }

    init(_ configuration: TLSServerConfiguration) throws(AccessError) {
        self.client = configuration.clientCertificate
        self.allowedNames = configuration.allowedClientNames
        let configuration = try configuration.nioConfiguration()
        do {
            self.context = try NIOSSLContext(configuration: configuration)
        } catch {
            let isMismatch = error is BoringSSLError && "\(error)".contains("KEY_VALUES_MISMATCH")
            throw isMismatch || error as? NIOSSLError == .failedToLoadPrivateKey
                ? AccessError(part: .key, message: "does not match the certificate")
                : AccessError(part: .tls, message: "cannot be used: \(error)")
        }
    }

    /// The handlers between a new connection and HTTP, in the order of inbound bytes.
    func handlers() -> [any ChannelHandler] {
        [self.handler()] + (self.allowedNames.map { [ClientNameHandler($0)] } ?? [])
    }

    private func handler() -> NIOSSLServerHandler {
        switch self.client {
        case .none, .verifiedIfGiven, .requiredAndVerified: NIOSSLServerHandler(context: self.context)
        case .requested, .required:
            // Accepts any certificate; without the callback, NIOSSL would verify it against the authorities.
            NIOSSLServerHandler(context: self.context) { _, promise in promise.succeed(.certificateVerified) }
        }
    }
}

extension TLSServerConfiguration {
    fileprivate func nioConfiguration() throws(AccessError) -> TLSConfiguration {
        let certificates = try Self.certificates(self.certificate, .certificate)
        guard let key = try? NIOSSLPrivateKey(bytes: Array(self.key.utf8), format: .pem) else {
            throw AccessError(part: .key, message: "contains no PEM private key without a passphrase")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = self.minimumVersion.version
        configuration.maximumTLSVersion = self.maximumVersion.version
        configuration.applicationProtocols = ["http/1.1"]
        // How long to wait for the client's close_notify.
        configuration.shutdownTimeout = .seconds(1)
        if !self.curves.isEmpty { configuration.curves = self.curves.map(\.curve) }
        try self.applyCipherSuites(to: &configuration)
        try self.applyClientCertificate(to: &configuration)
        return configuration
    }

    private func applyCipherSuites(to configuration: inout TLSConfiguration) throws(AccessError) {
        guard !self.cipherSuites.isEmpty else { return }
        let older = self.cipherSuites.filter { $0.contains("_WITH_") }
        if !older.isEmpty {
            configuration.cipherSuites = older.joined(separator: ":")
        } else if self.maximumVersion == .v1_3 {
            // Only TLS 1.3 suites remain, and those cannot be selected individually.
            configuration.minimumTLSVersion = .tlsv13
        } else {
            throw AccessError(part: .tls, message: "has no cipher suite for any allowed version")
        }
    }

    private func applyClientCertificate(to configuration: inout TLSConfiguration) throws(AccessError) {
        switch self.clientCertificate {
        case .none: return
        case .requested, .verifiedIfGiven: configuration.certificateVerification = .optionalVerification
        case .required, .requiredAndVerified: configuration.certificateVerification = .noHostnameVerification
        }
        if let text = self.clientAuthorities {
            configuration.trustRoots = .certificates(try Self.certificates(text, .clientAuthorities))
            configuration.sendCANameList = true
        } else if self.clientCertificate == .requested || self.clientCertificate == .required {
            // No certificate is verified, so the system's authorities need not be read.
            configuration.trustRoots = .certificates([])
        }
    }

    private static func certificates(
        _ text: String, _ part: AccessError.Part
    ) throws(AccessError) -> [NIOSSLCertificate] {
        let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
        guard let certificates, !certificates.isEmpty else {
            throw AccessError(part: part, message: "contains no PEM certificate")
        }
        return certificates
    }
}

extension TidegateCore.TLSVersion {
    fileprivate var version: NIOSSL.TLSVersion {
        switch self {
        case .v1_0: .tlsv1
        case .v1_1: .tlsv11
        case .v1_2: .tlsv12
        case .v1_3: .tlsv13
        }
    }
}

extension TLSServerConfiguration.Curve {
    fileprivate var curve: NIOTLSCurve {
        switch self {
        case .p256: .secp256r1
        case .p384: .secp384r1
        case .p521: .secp521r1
        case .x25519: .x25519
        }
    }
}

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
    /// The subject alternative names of text types: DNS names, addresses, e-mail addresses and URIs.
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
