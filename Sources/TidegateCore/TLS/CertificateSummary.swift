/// The fields of a certificate that explain most failures (RFC 5280).
public struct CertificateSummary: Sendable, Hashable {
    /// Whom it names, as `C = DE, O = Example, CN = example.com`.
    public var subject: String
    /// Who signed it, in the same form.
    public var issuer: String
    /// The beginning of its validity, as the certificate writes it (`Nov 21 12:00:00 2026 GMT`); empty if unknown.
    public var notBefore: String
    /// The end of its validity, in the same form.
    public var notAfter: String
    /// The names and addresses it is for (subjectAltName, RFC 5280), 16 at most.
    public var names: [String]
    /// The SHA-256 of its public key, in the form of a pin: `sha256//BASE64` (RFC 7469 2.4); empty if unknown.
    public var publicKeyPin: String
    /// Its SHA-256 fingerprint in 64 hexadecimal digits, in lower case; empty if unknown.
    public var fingerprint: String
    /// The authority that vouches for it, if an administrator of this host added that one to the system's; else nil.
    package var localAuthority: LocalAuthority?

    /// A summary from its parts.
    package init(
        subject: String, issuer: String, notBefore: String = "", notAfter: String, names: [String] = [],
        publicKeyPin: String = "", fingerprint: String = ""
    ) {
        (self.subject, self.issuer, self.notBefore, self.notAfter) = (subject, issuer, notBefore, notAfter)
        (self.names, self.publicKeyPin, self.fingerprint) = (names, publicKeyPin, fingerprint)
    }

    /// The end of its validity; nil if it cannot be read.
    public var expiry: WallTime? {
        let text = self.notAfter.hasSuffix(" GMT") ? self.notAfter.dropLast(4) : self.notAfter[...]
        return HTTPDate.parse("Any \(text)", year: 2000).map { WallTime(microseconds: $0 * 1_000_000) }
    }

    var json: JSONValue {
        [
            "subject": .string(self.subject), "issuer": .string(self.issuer), "notBefore": .string(self.notBefore),
            "notAfter": .string(self.notAfter), "names": .texts(self.names),
            "localAuthority": self.localAuthority.map { ["name": .string($0.name), "file": .string($0.file)] } ?? .null,
        ]
    }
}

/// A certificate authority that an administrator of this host added to the system's (update-ca-certificates(8)).
package struct LocalAuthority: Sendable, Hashable {
    /// Whom its certificate names.
    package var name: String
    /// The file that it was added by.
    package var file: String

    /// An authority from its parts.
    package init(name: String, file: String) {
        self.name = name
        self.file = file
    }
}
