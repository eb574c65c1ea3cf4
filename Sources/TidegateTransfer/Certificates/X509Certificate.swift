internal import CLinux
internal import COpenSSL
internal import Foundation
internal import TidegateCore
internal import TidegateLoop

/// A certificate parsed by libcrypto.
final class X509Certificate {
    let certificate: OpaquePointer

    private init(_ certificate: OpaquePointer) { self.certificate = certificate }

    /// Takes its own reference to a certificate that another owner keeps.
    init?(retaining certificate: OpaquePointer) {
        guard X509_up_ref(certificate) == 1 else { return nil }
        self.certificate = certificate
    }

    /// Parses a DER certificate (X.690); nil if it is malformed.
    convenience init?(_ encoded: [UInt8]) {
        let certificate = encoded.withUnsafeBytes { bytes in
            var start = bytes.bindMemory(to: UInt8.self).baseAddress
            return d2i_X509(nil, &start, encoded.count)
        }
        ERR_clear_error()
        guard let certificate else { return nil }
        self.init(certificate)
    }

    deinit { X509_free(self.certificate) }

    /// The certificates of a stack, in order.
    static func all(in stack: OpaquePointer?) -> [X509Certificate] {
        (0..<tg_x509_count(stack)).compactMap { position in
            tg_x509_at(stack, position).flatMap { X509Certificate(retaining: $0) }
        }
    }

    /// The authority at which a verification ended; nil if it ended at the server's own certificate, or well.
    static func refusedAuthority(_ context: OpaquePointer, among sent: [X509Certificate]) -> RefusedAuthority? {
        guard X509_STORE_CTX_get_error(context) != X509_V_OK, X509_STORE_CTX_get_error_depth(context) > 0,
            let own = X509_STORE_CTX_get_current_cert(context).flatMap({ X509Certificate(retaining: $0) })
        else { return nil }
        // An authority is judged before the server's own certificate, which may have expired as well.
        if let end = sent.first?.expiry, end < SystemClock().wall() { return nil }
        return RefusedAuthority(own.summary, isSent: sent.contains { $0.isEqual(to: own) })
    }

    /// Every certificate of a PEM text, up to the first malformed one.
    static func all(inPEM text: [UInt8]) -> [X509Certificate] {
        text.withUnsafeBytes { bytes in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return [] }
            defer { BIO_free(source) }
            var certificates: [X509Certificate] = []
            while let certificate = PEM_read_bio_X509(source, nil, nil, nil) {
                certificates.append(X509Certificate(certificate))
            }
            // libcrypto reports the end of the text as an error, which must not be left for the next caller on this
            // thread.
            ERR_clear_error()
            return certificates
        }
    }

    /// Why libcrypto refuses a PEM text (RFC 7468), in one clause with the line of the first damaged certificate; nil
    /// if the text has no certificates.
    static func damage(inPEM text: [UInt8]) -> String? {
        let labels = ["CERTIFICATE-----", "X509 CERTIFICATE-----", "TRUSTED CERTIFICATE-----"]
        var (number, begin, block): (Int, Int?, [UInt8]) = (0, nil, [])
        func clause(_ line: Int) -> String { "its certificate \(number), from line \(line) on, is damaged" }
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let isMark = line.starts(with: "-----".utf8)
            let mark =
                isMark ? String(decoding: line.prefix { $0 >= 0x20 }, as: UTF8.self).trimmingOptionalWhitespace : ""
            if mark.hasPrefix("-----BEGIN ") {
                // The one before has no end.
                if let begin { return clause(begin) }
                guard labels.contains(String(mark.dropFirst(11))) else { continue }
                (number, begin, block) = (number + 1, index + 1, [])
            }
            guard let start = begin else { continue }
            block += line
            block.append(UInt8(ascii: "\n"))
            guard mark.hasPrefix("-----END ") else { continue }
            if Self.all(inPEM: block).isEmpty { return clause(start) }
            begin = nil
        }
        return begin.map(clause) ?? (number > 0 ? "a part of it that is not a certificate is damaged" : nil)
    }

    /// The common name of the subject, or else the whole subject.
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

    /// True if `authority` is its issuer by name and signature.
    func isSigned(by authority: X509Certificate) -> Bool {
        guard X509_NAME_cmp(X509_get_issuer_name(self.certificate), X509_get_subject_name(authority.certificate)) == 0,
            let key = X509_get0_pubkey(authority.certificate)
        else { return false }
        defer { ERR_clear_error() }
        return X509_verify(self.certificate, key) == 1
    }

    /// True if it is valid for a host name or address (RFC 9525).
    func isFor(_ host: String) -> Bool {
        defer { ERR_clear_error() }
        if IPAddress(host) != nil { return X509_check_ip_asc(self.certificate, host, 0) == 1 }
        let flags = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
        return X509_check_host(self.certificate, host, host.utf8.count, flags, nil) == 1
    }

    /// True if it belongs to a private key.
    func isOwned(by key: borrowing PrivateKey) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_private_key(self.certificate, key.raw) == 1
    }

    // MARK: - Digests

    /// The whole certificate in DER (X.690).
    var encoded: [UInt8] { Self.bytes { i2d_X509(self.certificate, $0) } }

    /// The SHA-256 of its public key (SubjectPublicKeyInfo, RFC 7469 2.4).
    private(set) lazy var publicKeyDigest: [UInt8] = MessageDigest.sha256(
        Self.bytes { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(self.certificate), $0) })

    /// Its SHA-256 fingerprint.
    private(set) lazy var fingerprint: [UInt8] = MessageDigest.sha256(self.encoded)

    private static func bytes(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
        var start: UnsafeMutablePointer<UInt8>?
        let count = encode(&start)
        defer { tg_openssl_free(start) }
        return count > 0 ? Array(UnsafeBufferPointer(start: start, count: Int(count))) : []
    }

    // MARK: - Descriptions

    static let maxNames = 16

    /// The fields that explain most failures.
    var summary: CertificateSummary {
        CertificateSummary(
            subject: Self.text { tg_x509_write_name($0, X509_get_subject_name(self.certificate)) },
            issuer: Self.text { tg_x509_write_name($0, X509_get_issuer_name(self.certificate)) },
            notBefore: Self.text { tg_x509_write_time($0, X509_get0_notBefore(self.certificate)) },
            notAfter: Self.text { tg_x509_write_time($0, X509_get0_notAfter(self.certificate)) }, names: self.names,
            publicKeyPin: "sha256//\(Data(self.publicKeyDigest).base64EncodedString())",
            fingerprint: self.fingerprint.hexadecimal)
    }

    /// The fields that identify the certificate.
    var identity: CertificateChain.Identity {
        CertificateChain.Identity(
            fingerprint: self.fingerprint.hexadecimal,
            subject: Self.text { tg_x509_write_rfc2253_name($0, X509_get_subject_name(self.certificate)) },
            issuer: Self.text { tg_x509_write_rfc2253_name($0, X509_get_issuer_name(self.certificate)) },
            names: self.collectedNames(by: tg_x509_dns_names), serialNumber: self.serialNumber)
    }

    // In hexadecimal without leading zeros.
    private var serialNumber: String {
        guard let number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(self.certificate), nil) else { return "" }
        defer { BN_free(number) }
        guard let digits = BN_bn2hex(number) else { return "" }
        defer { tg_openssl_free(digits) }
        let text = String(cString: digits).lowercased().drop { $0 == "0" }
        return text.isEmpty ? "0" : String(text)
    }

    /// The end of its validity; nil if it cannot be read.
    var expiry: WallTime? {
        var seconds: Int64 = 0
        guard tg_x509_seconds(X509_get0_notAfter(self.certificate), &seconds) == 1 else { return nil }
        return WallTime(microseconds: seconds * 1_000_000)
    }

    private typealias NameCollector = (
        OpaquePointer?, UnsafeMutableRawPointer?,
        (@convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, Int32) -> Void)?
    ) -> Void

    // Every name that `collect` reports.
    private func collectedNames(by collect: NameCollector) -> [String] {
        final class Names { var texts: [String] = [] }
        let names = Names()
        collect(self.certificate, Unmanaged.passUnretained(names).toOpaque()) { context, bytes, count in
            guard let bytes else { return }
            let text = String(decoding: UnsafeRawBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
            withObject(Names.self, at: context, else: ()) { $0.texts.append(text) }
        }
        return names.texts
    }

    /// True if it names a host beside its subject (subjectAltName, RFC 5280).
    var namesHosts: Bool {
        self.collectedNames(by: tg_x509_names).contains { $0.hasPrefix("DNS:") || $0.hasPrefix("IP Address:") }
    }

    private var names: [String] {
        // `DNS:localhost`, `IP Address:127.0.0.1`
        self.collectedNames(by: tg_x509_names).prefix(Self.maxNames).compactMap { text in
            text.firstIndex(of: ":").map { String(text[text.index(after: $0)...]) }
        }
    }

    private static func text(_ write: (OpaquePointer) -> Int32) -> String {
        guard let memory = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(memory) }
        guard write(memory) >= 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = BIO_read(memory, &bytes, Int32(bytes.count))
        return count > 0 ? String(decoding: bytes.prefix(Int(count)), as: UTF8.self) : ""
    }
}

/// A client certificate and its key, as PEM texts.
package struct ClientIdentity: Sendable {
    /// Why they cannot be presented to a server.
    package enum Problem: Sendable, Hashable {
        case noCertificate
        /// The file has no key, or only one with a passphrase.
        case noKey
        /// The key belongs to another certificate.
        case wrongKey
    }

    package let certificate: [UInt8]
    package let key: [UInt8]

    /// Parses an identity from its texts.
    package init(certificate: [UInt8], key: [UInt8]) {
        self.certificate = certificate
        self.key = key
    }

    /// The problem; nil if none exists.
    package var problem: Problem? {
        guard let own = X509Certificate.all(inPEM: self.certificate).first else { return .noCertificate }
        guard let key = PrivateKey(pem: self.key) else { return .noKey }
        return own.isOwned(by: key) ? nil : .wrongKey
    }

    /// The problem in one clause that names certificate and key; nil if none exists.
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

    /// True if `text` contains a PEM key that needs no passphrase.
    package static func hasKey(_ text: [UInt8]) -> Bool {
        if PrivateKey(pem: text) != nil { true } else { false }
    }
}

/// A private key parsed by libcrypto.
struct PrivateKey: ~Copyable {
    let raw: OpaquePointer

    /// The first key of a PEM text; nil if none can be read without a passphrase.
    init?(pem text: [UInt8]) {
        defer { ERR_clear_error() }
        let key = text.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(source) }
            // Without this callback libcrypto would prompt for a passphrase on the terminal.
            return PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in 0 }, nil)
        }
        guard let key else { return nil }
        self.raw = key
    }

    deinit { EVP_PKEY_free(self.raw) }
}
