package import TidegateCore

/// The endpoint's certificate and TLS options, and its requirements for clients.
package struct TLSServerConfiguration: Sendable, Hashable {
    /// Whether clients need a certificate, in the spelling of web.yml, which uses the names of Go's crypto/tls.
    package enum ClientCertificate: String, Sendable, CaseIterable {
        case none = "NoClientCert"
        case requested = "RequestClientCert"
        case required = "RequireAnyClientCert"
        case verifiedIfGiven = "VerifyClientCertIfGiven"
        case requiredAndVerified = "RequireAndVerifyClientCert"

        /// True if connections without a client certificate are rejected.
        package var isRequired: Bool { self == .required || self == .requiredAndVerified }
    }

    /// The curves of a key exchange, in the spelling of web.yml, which uses the names of Go's crypto/tls.
    package enum Curve: String, Sendable, CaseIterable {
        case p256 = "CurveP256"
        case p384 = "CurveP384"
        case p521 = "CurveP521"
        case x25519 = "X25519"
    }

    /// The certificate chain in PEM, the endpoint's own certificate first.
    package var certificate = ""
    /// The private key of the first certificate, in PEM.
    package var key = ""
    /// The authorities that sign client certificates, in PEM; nil for the system's.
    package var clientAuthorities: String?
    /// Whether clients need a certificate.
    package var clientCertificate = ClientCertificate.none
    /// The accepted subject alternative names; a client's certificate needs one of them, and nil accepts any.
    package var allowedClientNames: Set<String>?
    /// The oldest version offered.
    package var minimumVersion = TLSVersion.v1_2
    /// The newest version offered.
    package var maximumVersion = TLSVersion.v1_3
    /// The cipher suites offered, preferred first, from ``supportedCipherSuites``; empty for the library's default.
    package var cipherSuites: [String] = []
    /// The curves offered, preferred first; empty for the library's default.
    package var curves: [Curve] = []

    /// The IANA names of the supported cipher suites; TLS 1.3 suites have no `_WITH_`, and cannot be selected
    /// individually.
    package static let supportedCipherSuites = [
        "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_256_CBC_SHA", "TLS_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_RSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    ]

    package init() {}
}
