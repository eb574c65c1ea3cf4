/// Why a server's certificate was refused.
package enum CertificateError: Sendable, Hashable {
    /// Its validity has ended.
    case expired
    /// Its validity has not begun, or this host's clock is slow.
    case notYetValid
    /// It is signed by itself, and is not trusted here.
    case selfSigned
    /// Its issuer is not trusted here, or an intermediate certificate is missing.
    case unknownIssuer
    /// It is for other names.
    case wrongName
    /// Its issuer revoked it.
    case revoked
    /// Something else, as OpenSSL describes it.
    case other(String)

    /// The error behind a verification result of OpenSSL's (X509_V_ERR_*, X509_STORE_CTX_get_error(3)).
    ///
    /// `text` is what libcurl says.
    init(verifyResult: Int, text: String) {
        switch verifyResult {
        // libcurl compares names itself, before it asks for a result: until then it is "unspecified".
        case 0, 1: self = .wrongName
        case 9: self = .notYetValid
        case 10: self = .expired
        case 18: self = .selfSigned
        case 2, 19, 20, 21, 27: self = .unknownIssuer
        case 23: self = .revoked
        case 62, 64: self = .wrongName
        default: self = .other(text)
        }
    }
}
