internal import NIOCore
internal import NIOSSL

/// What every encrypted connection under one policy shares.
struct TLSContext: Sendable {
    private let context: NIOSSLContext
    private let client: TLSServing.ClientCertificate
    private let names: Set<String>?

    init(_ serving: TLSServing) throws(AccessError) {
        self.client = serving.client
        self.names = serving.clientNames
        let configuration = try serving.configuration()
        do {
            self.context = try NIOSSLContext(configuration: configuration)
        } catch NIOSSLError.failedToLoadPrivateKey {
            throw AccessError(part: .key, message: "is not the key of the certificate")
        } catch let error as BoringSSLError where "\(error)".contains("KEY_VALUES_MISMATCH") {
            throw AccessError(part: .key, message: "is not the key of the certificate")
        } catch {
            throw AccessError(part: .tls, message: "cannot be used: \(error)")
        }
    }

    /// What stands between a new connection and HTTP, in the order of arriving bytes.
    func handlers() -> [any ChannelHandler] {
        [self.handler()] + (self.names.map { [ClientNameCheck($0)] } ?? [])
    }

    private func handler() -> NIOSSLServerHandler {
        switch self.client {
        case .none, .verifiedIfGiven, .requiredAndVerified: NIOSSLServerHandler(context: self.context)
        case .requested, .required:
            // Any certificate will do; in the library's own way it would have to be somebody's whom we believe.
            NIOSSLServerHandler(context: self.context) { _, promise in promise.succeed(.certificateVerified) }
        }
    }
}

extension TLSServing {
    fileprivate func configuration() throws(AccessError) -> TLSConfiguration {
        let certificates = try Self.certificates(self.certificate, .certificate)
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(bytes: Array(self.key.utf8), format: .pem)
        } catch {
            throw AccessError(part: .key, message: "holds no private key in PEM that can be read without a passphrase")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = self.oldest.version
        configuration.maximumTLSVersion = self.newest.version
        configuration.applicationProtocols = ["http/1.1"]
        // A client that does not answer the farewell is not waited for any longer.
        configuration.shutdownTimeout = .seconds(1)
        if !self.curves.isEmpty { configuration.curves = self.curves.map(\.curve) }
        try self.choose(suitesOf: &configuration)
        try self.ask(clientsFor: &configuration)
        return configuration
    }

    private func choose(suitesOf configuration: inout TLSConfiguration) throws(AccessError) {
        guard !self.suites.isEmpty else { return }
        let older = self.suites.filter { !$0.isOfTLS13 }.map(\.rawValue)
        if !older.isEmpty {
            configuration.cipherSuites = older.joined(separator: ":")
        } else if self.newest == .tls13 {
            // None is left for older versions, and those of TLS 1.3 are not for choosing.
            configuration.minimumTLSVersion = .tlsv13
        } else {
            throw AccessError(part: .tls, message: "allows no cipher suite of a version that it allows")
        }
    }

    private func ask(clientsFor configuration: inout TLSConfiguration) throws(AccessError) {
        switch self.client {
        case .none: return
        case .requested, .verifiedIfGiven: configuration.certificateVerification = .optionalVerification
        case .required, .requiredAndVerified: configuration.certificateVerification = .noHostnameVerification
        }
        if let text = self.clientAuthorities {
            configuration.trustRoots = .certificates(try Self.certificates(text, .clientAuthorities))
            configuration.sendCANameList = true
        } else if self.client == .requested || self.client == .required {
            // Nobody is verified: the system's authorities need not be read.
            configuration.trustRoots = .certificates([])
        }
    }

    private static func certificates(
        _ text: String, _ part: AccessError.Part
    ) throws(AccessError) -> [NIOSSLCertificate] {
        let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(text.utf8))
        guard let certificates, !certificates.isEmpty else {
            throw AccessError(part: part, message: "holds no certificate in PEM")
        }
        return certificates
    }
}

extension TLSServing.Version {
    fileprivate var version: TLSVersion {
        switch self {
        case .tls10: .tlsv1
        case .tls11: .tlsv11
        case .tls12: .tlsv12
        case .tls13: .tlsv13
        }
    }
}

extension TLSServing.Curve {
    fileprivate var curve: NIOTLSCurve {
        switch self {
        case .p256: .secp256r1
        case .p384: .secp384r1
        case .p521: .secp521r1
        case .x25519: .x25519
        }
    }
}
