internal import TidegateCore
internal import TidegateTransfer

extension ProbeTLSOptions {
    /// The options of a request.
    ///
    /// - Throws: Texts of the module that cannot be used, or a file that is to be used with one of them.
    func transferOptions(showsCertificate: Bool) throws(TextError) -> TLSOptions {
        var options = TLSOptions(caFile: self.caFile, isInsecure: self.isInsecure)
        if self.ca != nil, let authorities = try self.authorities() {
            options.inline.authorities = String(decoding: authorities, as: UTF8.self)
        }
        options.versions = self.versions
        guard showsCertificate else { return options }
        // What is wrong with files alone is found out when they are used.
        if self.certificate != nil || self.key != nil { _ = try self.identity() }
        (options.clientCertificate, options.clientKey) = (self.certificateFile, self.keyFile)
        (options.inline.certificate, options.inline.key) = (self.certificate, self.key)
        return options
    }

    /// The authorities that are trusted, in PEM; nil for the system's.
    ///
    /// - Throws: A file that cannot be read, or a text without a certificate.
    func authorities() throws(TextError) -> [UInt8]? {
        guard let text = try Self.bytes(self.ca, orOf: self.caFile) else { return nil }
        guard CertificateVerifier.hasCertificates(text) else {
            throw TextError("\(self.caFile ?? "tls_config.ca") has no certificate in PEM")
        }
        return text
    }

    /// The certificate that is shown, with its key; nil for none.
    ///
    /// - Throws: A file that cannot be read, or what is wrong with the two, of which the key is not quoted.
    func identity() throws(TextError) -> ClientIdentity? {
        guard let certificate = try Self.bytes(self.certificate, orOf: self.certificateFile),
            let key = try Self.bytes(self.key, orOf: self.keyFile)
        else { return nil }
        let identity = ClientIdentity(certificate: certificate, key: key)
        let problem = identity.problem(
            certificateName: self.certificateFile ?? "tls_config.cert", keyName: self.keyFile ?? "tls_config.key")
        if let problem { throw TextError(problem) }
        return identity
    }

    private static func bytes(_ text: String?, orOf path: String?) throws(TextError) -> [UInt8]? {
        if let text { return Array(text.utf8) }
        return try path.map { path throws(TextError) in try ProbeFile.read(path) }
    }
}

extension ProbeTLSOptions {
    /// True if `text` has a certificate in PEM.
    package static func hasCertificate(_ text: String) -> Bool {
        CertificateVerifier.hasCertificates(Array(text.utf8))
    }

    /// True if `text` has a key in PEM without a passphrase.
    package static func hasKey(_ text: String) -> Bool { ClientIdentity.hasKey(Array(text.utf8)) }

    /// True unless certificate and key both stand in the module, and are not of each other.
    package var hasMatchingTexts: Bool {
        guard let certificate = self.certificate, let key = self.key else { return true }
        return ClientIdentity(certificate: Array(certificate.utf8), key: Array(key.utf8)).problem != .wrongKey
    }
}
