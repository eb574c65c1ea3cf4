internal import FoundationEssentials

/// A certificate or a public key that a server may have: a SHA-256 in one of two forms.
package struct CertificatePin: Sendable, Hashable {
    /// What the digest is of.
    package enum Kind: Sendable, Hashable {
        /// The public key (SubjectPublicKeyInfo): `sha256//BASE64` (RFC 7469 2.4, CURLOPT_PINNEDPUBLICKEY(3)).
        case publicKey
        /// The whole certificate: 64 hexadecimal digits, with or without colons (openssl-x509(1), `-fingerprint`).
        case certificate
    }

    package let kind: Kind
    /// 32 bytes.
    package let digest: [UInt8]

    /// Parses a pin.
    ///
    /// - Throws: ``TextError``, which quotes the text and says which forms there are.
    package init(_ text: String) throws(TextError) {
        let isKey = text.hasPrefix("sha256//")
        let digest =
            isKey ? Data(base64Encoded: String(text.dropFirst(8))).map(Array.init) : Self.hexadecimal(text.utf8)
        guard let digest, digest.count == 32 else {
            throw TextError(
                "\"\(text)\" is neither sha256// and the hash of a public key in base64, nor the 64 hexadecimal "
                    + "digits of a certificate's SHA-256 fingerprint")
        }
        self.kind = isKey ? .publicKey : .certificate
        self.digest = digest
    }

    private static func hexadecimal(_ text: String.UTF8View) -> [UInt8]? {
        let digits = text.filter { $0 != UInt8(ascii: ":") }.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 64, text.count == 64 || text.count == 95 else { return nil }
        return stride(from: 0, to: 64, by: 2).reduce(into: [UInt8]?.some([])) { bytes, place in
            guard let high = digits[place], let low = digits[place + 1] else { return bytes = nil }
            bytes?.append(UInt8(high << 4 | low))
        }
    }
}
