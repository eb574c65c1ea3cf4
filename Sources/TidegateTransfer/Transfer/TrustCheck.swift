internal import CCurl
internal import COpenSSL
internal import TidegateCore

// Called by libcurl, as in CurlTransfer+Callbacks.swift.

/// Before each handshake: libssl is to ask us about the certificates.
func prepareTLS(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ transfer: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let context, let transfer else { return CURLE_ABORTED_BY_CALLBACK }
    SSL_CTX_set_cert_verify_callback(OpaquePointer(context), verifyCertificates, transfer)
    return CURLE_OK
}

// During a handshake, and so before anything of the request is sent.
private func verifyCertificates(_ store: OpaquePointer?, _ transfer: UnsafeMutableRawPointer?) -> Int32 {
    guard let store else { return 0 }
    return withObject(CurlTransfer.self, at: transfer, else: 0) { TrustCheck(transfer: $0).verify(store) ? 1 : 0 }
}

/// Decides whether a request may be sent to the server that its connection leads to.
struct TrustCheck {
    let transfer: CurlTransfer

    fileprivate func verify(_ store: OpaquePointer) -> Bool {
        let isVerified = X509_verify_cert(store) == 1
        let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()).map { OpaquePointer($0) }
        let certificates = ServerCertificates(
            store, of: ssl, verifyResult: Int(isVerified ? X509_V_OK : X509_STORE_CTX_get_error(store)))
        if let ssl { certificates.keep(with: ssl) }
        // An https proxy has a handshake of its own, which cannot be told from the server's here: ``mayTrust(_:)`` sees the
        // server's, and hooks are not asked behind such a proxy.
        guard let request = self.transfer.request, request.value.proxy?.scheme != .https else { return isVerified }
        // Not those of a handshake that a server asks for later on.
        if self.transfer.connection.starts == 0 { self.transfer.connection.certificates = certificates }
        guard request.value.tls.evaluator != nil else { return isVerified }
        guard self.isAccepted(certificates, request) else {
            if X509_STORE_CTX_get_error(store) == X509_V_OK {
                X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
            }
            return false
        }
        X509_STORE_CTX_set_error(store, X509_V_OK)
        return true
    }

    /// Whether the request may be sent on its connection: asked before every one, because a kept connection was made
    /// for another request.
    func mayTrust(_ request: Indirect<AttemptRequest>) -> Bool {
        // A hook has refused: libssl goes on nevertheless if nothing is to be verified.
        guard self.transfer.abortReason == nil else { return false }
        guard request.usesTLS, let ssl = tg_easy_get_ssl(self.transfer.easy.raw).map({ OpaquePointer($0) }) else {
            return !request.usesTLS || request.value.tls.pins.isEmpty && request.value.tls.evaluator == nil
        }
        let isReused = self.transfer.connection.certificates == nil
        guard let certificates = ServerCertificates.kept(with: ssl) else {
            self.transfer.abort(.tlsFailed, "the server of \(request.value.url.origin) showed no certificate")
            return false
        }
        self.transfer.connection.certificates = certificates
        if isReused, request.value.tls.evaluator != nil, !self.isAccepted(certificates, request) { return false }
        guard request.value.tls.pins.isEmpty || certificates.match(request.value.tls.pins) else {
            self.transfer.abort(.tlsPinMismatch, Self.mismatch(certificates, request.value.url.target))
            return false
        }
        return true
    }

    private static func mismatch(_ certificates: ServerCertificates, _ target: Target) -> String {
        let key = certificates.details.chain.first.map { "; its own key is \($0.publicKeyPin)" } ?? ""
        guard certificates.isVerified, certificates.chain.count > 1 else {
            return "the certificate of \(target.shownHost) is not pinned\(key)"
        }
        return "none of the \(certificates.chain.count) certificates of \(target.shownHost) is pinned\(key)"
    }

    // Asks the hook of the request.
    private func isAccepted(_ certificates: ServerCertificates, _ request: Indirect<AttemptRequest>) -> Bool {
        guard let evaluator = request.value.tls.evaluator else { return certificates.isVerified }
        let host = request.value.url.target.host
        let problem = certificates.problem(for: host)
        switch evaluator.evaluate(certificates.trust(of: host, problem: problem)) {
        case .trusted: return true
        case .verified:
            guard let problem else { return true }
            self.transfer.abort(.tlsFailed, problem.description(of: certificates.details.chain.first, host: host))
        case .refused(let reason):
            self.transfer.abort(.tlsFailed, "the app does not trust \(request.value.url.target.shownHost): \(reason)")
        }
        return false
    }
}

extension ServerCertificates {
    /// What is wrong with them for a host; nil if nothing is.
    func problem(for host: String) -> CertificateError? {
        guard self.isVerified else {
            let text = X509_verify_cert_error_string(self.verifyResult).map { String(cString: $0) } ?? ""
            return CertificateError(verifyResult: self.verifyResult, text: text)
        }
        return self.chain.first?.isFor(host) == true ? nil : .wrongName
    }
}
