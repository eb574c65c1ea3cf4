internal import COpenSSL

/// A certificate that libcrypto has read.
final class X509Certificate {
    private let certificate: OpaquePointer

    private init(_ certificate: OpaquePointer) { self.certificate = certificate }

    deinit { X509_free(self.certificate) }

    /// Every certificate of a text in PEM, up to the first malformed one.
    static func all(inPEM text: [UInt8]) -> [X509Certificate] {
        text.withUnsafeBytes { bytes in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return [] }
            defer { BIO_free(source) }
            var certificates: [X509Certificate] = []
            while let certificate = PEM_read_bio_X509(source, nil, nil, nil) {
                certificates.append(X509Certificate(certificate))
            }
            // The end of the text is an error to libcrypto, which the next caller on this thread must not find.
            ERR_clear_error()
            return certificates
        }
    }

    /// Whom it names: its common name, or else everything that its subject says.
    var subject: String {
        guard let name = X509_get_subject_name(self.certificate) else { return "" }
        let position = X509_NAME_get_index_by_NID(name, NID_commonName, -1)
        if position >= 0, let entry = X509_NAME_get_entry(name, position), let data = X509_NAME_ENTRY_get_data(entry) {
            var text: UnsafeMutablePointer<UInt8>?
            let count = ASN1_STRING_to_UTF8(&text, data)
            defer { tg_openssl_free(text) }
            if let text, count > 0 {
                return String(decoding: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self)
            }
        }
        var text = [CChar](repeating: 0, count: 256)
        X509_NAME_oneline(name, &text, Int32(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// True if it is the same certificate.
    func isEqual(to other: X509Certificate) -> Bool { X509_cmp(self.certificate, other.certificate) == 0 }

    /// True if an authority of the name that it gives signed it.
    func isSigned(by authority: X509Certificate) -> Bool {
        guard X509_NAME_cmp(X509_get_issuer_name(self.certificate), X509_get_subject_name(authority.certificate)) == 0,
            let key = X509_get0_pubkey(authority.certificate)
        else { return false }
        defer { ERR_clear_error() }
        return X509_verify(self.certificate, key) == 1
    }
}
