/// Why a server's certificate was refused.
package enum CertificateError: Sendable, Hashable {
    /// Its validity has ended.
    case expired
    /// The validity of an authority's certificate has ended; the server's own one may be valid.
    case expiredAuthority(RefusedAuthority)
    /// Its validity has not begun, or this host's clock is slow.
    case notYetValid
    /// It is self-signed, and is not trusted here.
    case selfSigned
    /// Its issuer is not trusted here, or an intermediate certificate is missing.
    case unknownIssuer
    /// It is for other names.
    case wrongName
    /// Its issuer revoked it.
    case revoked
    /// The server stapled no OCSP response, which this host requires.
    case noStatus
    /// Something else, as OpenSSL describes it.
    case other(String)

    /// The error behind a verification result of OpenSSL's (X509_V_ERR_*, X509_STORE_CTX_get_error(3)).
    ///
    /// `text` comes from libcurl. `authority` is where the verification ended, unless at the server's own certificate.
    package init(verifyResult: Int, text: String, authority: RefusedAuthority? = nil) {
        switch verifyResult {
        // libcurl compares names itself, before it asks for a result: until then it is "unspecified".
        case 0, 1: self = .wrongName
        case 9: self = .notYetValid
        case 10: self = authority.map { .expiredAuthority($0) } ?? .expired
        case 18: self = .selfSigned
        case 2, 19, 20, 21, 27: self = .unknownIssuer
        case 23: self = .revoked
        case 62, 64: self = .wrongName
        default: self = .other(text)
        }
    }

    /// The error behind a stapled OCSP response; `text` comes from libcurl.
    package init(status text: String) {
        let text = text.hasSuffix(".") ? String(text.dropLast()) : text
        self =
            if text.contains("revocation reason") { .revoked } else if text.contains("No OCSP response") {
                .noStatus
            } else {
                .other("the OCSP response of the server cannot be used: \(text)")
            }
    }

    /// What is wrong, in a clause that names the fields of the certificate it follows from.
    package func description(of certificate: CertificateSummary?, host: String? = nil) -> String {
        switch self {
        case .expired: return "the certificate expired" + (certificate.map { " on \(Self.day($0.notAfter))" } ?? "")
        case .expiredAuthority(let authority):
            return "the certificate of the authority \(authority.certificate.subject) expired on "
                + Self.day(authority.certificate.notAfter)
        case .notYetValid:
            return "the certificate is not valid yet"
                + (certificate.map { " (not before \(Self.day($0.notBefore)))" } ?? "")
        case .selfSigned: return "the certificate is self-signed" + (certificate.map { " (\($0.subject))" } ?? "")
        case .unknownIssuer:
            return "the certificate is not signed by an authority that this host trusts"
                + (certificate.map { "; its issuer is \($0.issuer)" } ?? "")
        case .wrongName:
            let names = certificate?.names ?? []
            if let certificate, names.isEmpty {
                return "the certificate names no host: it has no subject alternative name, only the subject "
                    + certificate.subject
            }
            let list = names.isEmpty ? "other names" : names.prefix(4).joined(separator: ", ")
            return "the certificate is for \(list)" + (host.map { " and not for \($0)" } ?? "")
        case .revoked: return "the certificate was revoked by its issuer"
        case .noStatus: return "the server sent no OCSP response with its certificate, and this host requires one"
        case .other(let text): return text
        }
    }

    // `Feb  1 00:00:00 2024 GMT` as `1 Feb 2024`; any other text unchanged.
    private static func day(_ text: String) -> String {
        let parts = text.split(separator: " ")
        return parts.count == 5 ? "\(parts[1]) \(parts[0]) \(parts[3])" : text
    }

    /// The error for programs.
    var code: String {
        switch self {
        case .expired: "certificateExpired"
        case .expiredAuthority: "certificateAuthorityExpired"
        case .notYetValid: "certificateNotYetValid"
        case .selfSigned: "certificateSelfSigned"
        case .unknownIssuer: "certificateUnknownIssuer"
        case .wrongName: "certificateWrongName"
        case .revoked: "certificateRevoked"
        case .noStatus: "certificateStatusMissing"
        case .other: "certificateRefused"
        }
    }
}

/// The certificate of an authority at which a verification ended.
package struct RefusedAuthority: Sendable, Hashable {
    fileprivate let certificate: CertificateSummary
    /// True if the server sent it, false if it is among those that this host trusts.
    package let isSent: Bool

    /// An authority from its parts.
    package init(_ certificate: CertificateSummary, isSent: Bool) {
        (self.certificate, self.isSent) = (certificate, isSent)
    }
}
