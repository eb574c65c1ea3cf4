internal import COpenSSL

/// A certificate that a client shows, and its key, as texts in PEM.
package struct ClientIdentity: Sendable {
    /// Why a server would not get them.
    package enum Problem: Sendable, Hashable {
        case noCertificate
        /// There is none, or only one with a passphrase.
        case noKey
        /// The key belongs to another certificate.
        case wrongKey
    }

    package let certificate: [UInt8]
    package let key: [UInt8]

    /// An identity from its texts.
    package init(certificate: [UInt8], key: [UInt8]) {
        self.certificate = certificate
        self.key = key
    }

    /// What is wrong; nil if nothing is.
    package var problem: Problem? {
        guard let own = X509Certificate.all(inPEM: self.certificate).first else { return .noCertificate }
        guard let key = PrivateKey(pem: self.key) else { return .noKey }
        return own.isOwned(by: key) ? nil : .wrongKey
    }

    /// What is wrong, in one clause that names certificate and key; nil if nothing is.
    package func problem(certificateName: String, keyName: String) -> String? {
        switch self.problem {
        case .noCertificate:
            "the client certificate \(certificateName) cannot be used: no certificate in PEM form in it"
        case .noKey:
            "the client key \(keyName) cannot be used: no key in PEM form without a passphrase in it"
        case .wrongKey: "the client key \(keyName) is not that of the certificate \(certificateName)"
        case nil: nil
        }
    }

    /// True if `text` has a key in PEM that can be read without a passphrase.
    package static func hasKey(_ text: [UInt8]) -> Bool {
        if PrivateKey(pem: text) != nil { true } else { false }
    }
}

/// A private key that libcrypto has read.
struct PrivateKey: ~Copyable {
    let raw: OpaquePointer

    /// The first key of a text in PEM; nil if it has none that can be read without a passphrase.
    init?(pem text: [UInt8]) {
        defer { ERR_clear_error() }
        let key = text.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(source) }
            // Without a function of our own libcrypto would ask on the terminal.
            return PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in 0 }, nil)
        }
        guard let key else { return nil }
        self.raw = key
    }

    deinit { EVP_PKEY_free(self.raw) }
}
