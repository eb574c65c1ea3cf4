package import TidegateCore

/// When the certificates of a server end, and which one is its own.
package struct CertificateChain: Sendable, Hashable {
    /// What identifies a certificate.
    package struct Identity: Sendable, Hashable {
        /// Its SHA-256 in 64 hexadecimal digits, in lower case.
        package var fingerprint: String
        /// Whom it names, as `CN=example.com,O=Example` (RFC 2253).
        package var subject: String
        /// Who signed it, in the same form.
        package var issuer: String
        /// The DNS names that it is for (subjectAltName, RFC 5280).
        package var names: [String]
        /// In hexadecimal, in lower case.
        package var serialNumber: String
    }

    /// The protocol's version, `TLSv1.2` or `TLSv1.3`.
    package var version: String
    /// The cipher suite, as IANA names it (`TLS_AES_256_GCM_SHA384`).
    package var cipher: String
    /// The server's own certificate.
    package var own: Identity
    /// When the first of the certificates ends that the server sent; nil if that cannot be read.
    package var earliestExpiry: WallTime?
    /// When the first certificate ends of the chain that was verified; nil if it was not.
    package var verifiedExpiry: WallTime?
}
