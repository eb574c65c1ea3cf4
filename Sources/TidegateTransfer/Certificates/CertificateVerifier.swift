internal import COpenSSL
internal import TidegateCore

/// Verifies server certificates on connections that are not libcurl's (RFC 5280, RFC 9525).
package struct CertificateVerifier: Sendable {
    /// The result of a verification.
    package struct Result: Sendable {
        /// The certificates, without protocol version and cipher.
        package var chain: CertificateChain
        /// The problem in one clause; nil if none exists or no check was requested.
        package var problem: String?
    }

    private let authorities: [UInt8]?
    private let host: String?
    private let isInsecure: Bool

    /// Creates a verifier that trusts the `authorities` of a PEM text, or the system's.
    ///
    /// `host` is the name or address that the server's own certificate must be valid for; nil for any.
    package init(authorities: [UInt8]?, host: String?, isInsecure: Bool) {
        (self.authorities, self.host, self.isInsecure) = (authorities, host, isInsecure)
    }

    /// True if `text` contains a PEM certificate.
    package static func hasCertificates(_ text: [UInt8]) -> Bool { !X509Certificate.all(inPEM: text).isEmpty }

    /// Verifies DER certificates, the server's own first; nil if that one cannot be read.
    package func verify(_ encoded: [[UInt8]]) -> Result? {
        guard let first = encoded.first, let own = X509Certificate(first) else { return nil }
        let sent = [own] + encoded.dropFirst().compactMap { X509Certificate($0) }
        var chain = CertificateChain(
            version: "", cipher: "", own: own.identity, earliestExpiry: sent.compactMap(\.expiry).min(),
            verifiedExpiry: nil)
        let (code, verified, authority) = self.chain(of: own, sent)
        if code == X509_V_OK {
            chain.verifiedExpiry = verified.compactMap(\.expiry).min()
            return Result(chain: chain)
        }
        guard !self.isInsecure else { return Result(chain: chain) }
        let error = CertificateError(
            verifyResult: Int(code), text: String(cString: X509_verify_cert_error_string(Int(code))),
            authority: authority)
        return Result(chain: chain, problem: error.description(of: own.summary, host: self.host))
    }

    // The result (X509_V_*), the chain up to the trusted certificate, and the authority that ended it.
    private func chain(
        of own: X509Certificate, _ sent: [X509Certificate]
    ) -> (Int32, [X509Certificate], RefusedAuthority?) {
        defer { ERR_clear_error() }
        let noMemory: (Int32, [X509Certificate], RefusedAuthority?) = (X509_V_ERR_OUT_OF_MEM, [], nil)
        guard let store = X509_STORE_new() else { return noMemory }
        defer { X509_STORE_free(store) }
        if let authorities = self.authorities {
            for authority in X509Certificate.all(inPEM: authorities) {
                X509_STORE_add_cert(store, authority.certificate)
            }
        } else {
            X509_STORE_set_default_paths(store)
        }
        guard let others = tg_x509_new_stack(), let context = X509_STORE_CTX_new() else { return noMemory }
        defer {
            X509_STORE_CTX_free(context)
            tg_x509_free_stack(others)
        }
        for certificate in sent.dropFirst() { _ = tg_x509_add(others, certificate.certificate) }
        guard X509_STORE_CTX_init(context, store, own.certificate, others) == 1, self.expectHost(context) else {
            return noMemory
        }
        guard X509_verify_cert(context) == 1 else {
            let code = X509_STORE_CTX_get_error(context)
            let authority = X509Certificate.refusedAuthority(context, among: sent)
            return (code == X509_V_OK ? X509_V_ERR_UNSPECIFIED : code, [], authority)
        }
        return (X509_V_OK, X509Certificate.all(in: X509_STORE_CTX_get0_chain(context)), nil)
    }

    // Like libssl by default and curl(1): an intermediate authority may be trusted as well.
    private func expectHost(_ context: OpaquePointer) -> Bool {
        guard let parameters = X509_STORE_CTX_get0_param(context),
            X509_STORE_CTX_set_default(context, "ssl_server") == 1
        else { return false }
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        guard let host = self.host else { return true }
        if let address = IPAddress(host) {
            return X509_VERIFY_PARAM_set1_ip_asc(parameters, "\(address.withoutZone)") == 1
        }
        X509_VERIFY_PARAM_set_hostflags(
            parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        return X509_VERIFY_PARAM_set1_host(parameters, host, host.utf8.count) == 1
    }
}
