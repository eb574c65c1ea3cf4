internal import COpenSSL
internal import TidegateCore

/// The certificates that a connection's server presented.
///
/// They are kept with the connection, so that a later request on it is checked without another verification.
final class ServerCertificates {
    /// The server's own first: up to a trusted authority if the chain was verified, else in the order sent.
    let chain: [X509Certificate]
    /// The result of the verification (X509_V_ERR_*, X509_STORE_CTX_get_error(3)); 0 is success.
    let verifyResult: Int
    /// The authority at which the verification ended; nil if it ended at the server's own certificate, or well.
    let refusedAuthority: RefusedAuthority?
    private let version: String
    private let cipher: String
    /// The cipher suite as IANA names it.
    private let standardCipher: String
    /// The certificates that the server sent, its own first.
    private let sent: [X509Certificate]

    /// Created while a handshake verifies the certificates.
    init(_ store: OpaquePointer, of ssl: OpaquePointer?, verifyResult: Int) {
        self.verifyResult = verifyResult
        let isVerified = verifyResult == Int(X509_V_OK)
        let own = X509_STORE_CTX_get0_cert(store).flatMap { X509Certificate(retaining: $0) }
        let sent = Self.certificates(X509_STORE_CTX_get0_untrusted(store), after: own)
        self.sent = sent
        self.refusedAuthority = isVerified ? nil : X509Certificate.refusedAuthority(store, among: sent)
        self.chain = isVerified ? Self.certificates(X509_STORE_CTX_get0_chain(store), after: own) : self.sent
        self.version = ssl.flatMap { SSL_get_version($0) }.map { String(cString: $0) } ?? ""
        let agreed = ssl.flatMap { SSL_get_pending_cipher($0) ?? SSL_get_current_cipher($0) }
        self.cipher = agreed.flatMap { SSL_CIPHER_get_name($0) }.map { String(cString: $0) } ?? ""
        self.standardCipher = agreed.flatMap { SSL_CIPHER_standard_name($0) }.map { String(cString: $0) } ?? ""
    }

    // The certificates of a stack, the server's own first.
    private static func certificates(_ stack: OpaquePointer?, after own: X509Certificate?) -> [X509Certificate] {
        var certificates = X509Certificate.all(in: stack)
        if let own, !(certificates.first?.isEqual(to: own) ?? false) { certificates.insert(own, at: 0) }
        return certificates
    }

    /// The expiry of the certificates and the identity of the server's own; nil if it presented none.
    var certificateChain: CertificateChain? {
        guard let own = self.sent.first else { return nil }
        return CertificateChain(
            version: self.version, cipher: self.standardCipher, own: own.identity,
            earliestExpiry: self.sent.compactMap(\.expiry).min(),
            verifiedExpiry: self.isVerified ? self.chain.compactMap(\.expiry).min() : nil)
    }

    /// True if the chain leads to a trusted authority and nothing in it has expired.
    var isVerified: Bool { self.verifyResult == Int(X509_V_OK) }

    private static let maxCertificates = 8

    /// The certificates as a value, created once for all requests on the connection.
    private(set) lazy var details = TLSDetails(
        version: self.version, cipher: self.cipher, chain: self.chain.prefix(Self.maxCertificates).map(\.summary))

    /// The argument of a trust hook.
    func trust(of host: String, problem: CertificateError?) -> ServerTrust {
        ServerTrust(
            host: host, tls: self.details, certificates: self.chain.prefix(Self.maxCertificates).map(\.encoded),
            problem: problem.map { $0.description(of: self.details.chain.first, host: host) })
    }

    /// Why the certificates are not acceptable for a host; nil if they are.
    func problem(for host: String) -> CertificateError? {
        guard self.isVerified else {
            let text = X509_verify_cert_error_string(self.verifyResult).map { String(cString: $0) } ?? ""
            return CertificateError(verifyResult: self.verifyResult, text: text, authority: self.refusedAuthority)
        }
        return self.chain.first?.isFor(host) == true ? nil : .wrongName
    }

    /// True if one of the certificates, or its key, is pinned.
    ///
    /// In an unverified chain only the server's own certificate counts: any server can send the others.
    func match(_ pins: [CertificatePin]) -> Bool {
        (self.isVerified ? self.chain[...] : self.chain.prefix(1)).contains { certificate in
            pins.contains { pin in
                switch pin.kind {
                case .publicKey: pin.digest == certificate.publicKeyDigest
                case .certificate: pin.digest == certificate.fingerprint
                }
            }
        }
    }

    // MARK: - Storage with the connection

    // The index of the certificates in every SSL object; -1 if libssl has no memory for it.
    private static let index = tg_ssl_new_index { _, object, _, _, _, _ in
        if let object { Unmanaged<ServerCertificates>.fromOpaque(object).release() }
    }

    /// Attaches the certificates to a connection for its lifetime.
    func keep(with ssl: OpaquePointer) {
        let before = SSL_get_ex_data(ssl, Self.index)
        let object = Unmanaged.passRetained(self)
        guard SSL_set_ex_data(ssl, Self.index, object.toOpaque()) == 1 else { return object.release() }
        if let before { Unmanaged<ServerCertificates>.fromOpaque(before).release() }
    }

    /// The certificates attached to a connection; nil if there are none.
    static func kept(with ssl: OpaquePointer) -> ServerCertificates? {
        SSL_get_ex_data(ssl, self.index).map { Unmanaged<ServerCertificates>.fromOpaque($0).takeUnretainedValue() }
    }
}
