package import TidegateCore

/// The expiry of a server's certificates, and the identity of its own one.
package struct CertificateChain: Sendable, Hashable {
    /// The fields that identify a certificate.
    package struct Identity: Sendable, Hashable {
        /// Its SHA-256 in 64 hexadecimal digits, in lower case.
        package var fingerprint: String
        /// The subject, as `CN=example.com,O=Example` (RFC 2253).
        package var subject: String
        /// The issuer, in the same form.
        package var issuer: String
        /// The DNS names that it is valid for (subjectAltName, RFC 5280).
        package var names: [String]
        /// The serial number in lower-case hexadecimal.
        package var serialNumber: String
    }

    /// The protocol version: `TLSv1.2` or `TLSv1.3`.
    package var version: String
    /// The cipher suite, as IANA names it (`TLS_AES_256_GCM_SHA384`).
    package var cipher: String
    /// The server's own certificate.
    package var own: Identity
    /// The earliest expiry of the certificates that the server sent; nil if it cannot be read.
    package var earliestExpiry: WallTime?
    /// The earliest expiry of the verified chain; nil if the chain was not verified.
    package var verifiedExpiry: WallTime?
}
