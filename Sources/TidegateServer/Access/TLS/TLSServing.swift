/// How the endpoint shows who it is, and asks clients who they are.
package struct TLSServing: Sendable, Hashable {
    /// The versions of TLS.
    package enum Version: String, Sendable, CaseIterable, Comparable {
        case tls10 = "TLS10"
        case tls11 = "TLS11"
        case tls12 = "TLS12"
        case tls13 = "TLS13"

        /// Older versions are less.
        package static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
    }

    /// What clients are asked for, in the words of Go's crypto/tls.
    package enum ClientCertificate: String, Sendable, CaseIterable {
        case none = "NoClientCert"
        case requested = "RequestClientCert"
        case required = "RequireAnyClientCert"
        case verifiedIfGiven = "VerifyClientCertIfGiven"
        case requiredAndVerified = "RequireAndVerifyClientCert"

        /// True where no client gets in without one.
        package var isRequired: Bool {
            switch self {
            case .required, .requiredAndVerified: true
            case .none, .requested, .verifiedIfGiven: false
            }
        }
    }

    /// The curves of a key exchange, in the words of Go's crypto/tls.
    package enum Curve: String, Sendable, CaseIterable {
        case p256 = "CurveP256"
        case p384 = "CurveP384"
        case p521 = "CurveP521"
        case x25519 = "X25519"
    }

    /// The certificates in PEM, the endpoint's own first.
    package var certificate: String
    /// The key of the first one in PEM.
    package var key: String
    /// Whom to believe about clients, in PEM; nil believes those whom the system believes.
    package var clientAuthorities: String?
    /// What clients are asked for.
    package var client = ClientCertificate.none
    /// The names of which a client's certificate has to have one; nil asks for none.
    package var clientNames: Set<String>?
    /// The oldest version that is spoken.
    package var oldest = Version.tls12
    /// The newest version that is spoken.
    package var newest = Version.tls13
    /// The cipher suites that may be used, best first; empty leaves the choice to the library.
    package var suites: [CipherSuite] = []
    /// The curves that may be used, best first; empty leaves the choice to the library.
    package var curves: [Curve] = []

    /// TLS with a certificate and its key.
    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}
