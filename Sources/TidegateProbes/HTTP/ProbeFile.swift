internal import FoundationEssentials
internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// Reads files for every probe, so that changes apply immediately.
enum ProbeFile {
    /// More than any of these files needs.
    private static let limit = 16 * 1024 * 1024

    /// The content of a file.
    ///
    /// - Throws: An error with the path and the problem.
    static func read(_ path: String) throws(TextError) -> [UInt8] {
        do {
            // A pipe or a device may never end.
            let attributes = try FileManager.default.attributesOfItem(
                atPath: URL(filePath: path).resolvingSymlinksInPath().path())
            guard attributes[.type] as? FileAttributeType == .typeRegular else {
                throw TextError("\(path) is not a regular file")
            }
            guard (attributes[.size] as? Int ?? 0) <= Self.limit else {
                throw TextError("\(path) has more than 16 MiB")
            }
            return Array(try Data(contentsOf: URL(filePath: path)))
        } catch let error as TextError {
            throw error
        } catch {
            throw TextError("\(path) cannot be read")
        }
    }

    /// The value of a secret; for a file, its content without surrounding white space.
    static func read(_ secret: Secret) throws(TextError) -> String {
        switch secret {
        case .text(let text): return text
        case .file(let path):
            let isSpace = { (byte: UInt8) in [0x09, 0x0A, 0x0D, 0x20].contains(byte) }
            let bytes = try Self.read(path).drop(while: isSpace)
            return String(decoding: bytes.reversed().drop(while: isSpace).reversed(), as: UTF8.self)
        }
    }
}

extension SecretHeader {
    /// The header field.
    ///
    /// - Throws: For an unreadable file, or a value that a field cannot contain.
    func field() throws(TextError) -> HTTPField {
        guard let name = HTTPField.Name(self.name), case let value = try ProbeFile.read(self.value),
            HTTPField.isValidValue(value)
        else { throw TextError("the value of the module's field \(self.name) has a character that no field can carry") }
        return HTTPField(name: name, value: value)
    }
}

extension ProbeAuthorization {
    /// The field Authorization.
    ///
    /// - Throws: For an unreadable file, or a secret that a field cannot contain.
    func field() throws(TextError) -> HTTPField {
        let value: String
        switch self {
        case .basic(let user, let password):
            let text = "\(try ProbeFile.read(user)):\(try ProbeFile.read(password))"
            value = "Basic \(Data(text.utf8).base64EncodedString())"
        case .token(let scheme, let secret): value = "\(scheme) \(try ProbeFile.read(secret))"
        }
        guard HTTPField.isValidValue(value) else {
            throw TextError("the module's authorization has a character that no header field can carry")
        }
        return HTTPField(name: .authorization, value: value)
    }
}

extension ProbeTLSOptions {
    /// The TLS options of a request.
    ///
    /// - Throws: For unusable texts in the module, or an unusable file that belongs to one of them.
    func transferOptions(showsCertificate: Bool) throws(TextError) -> TLSOptions {
        var options = TLSOptions(caFile: self.caFile, isInsecure: self.isInsecure)
        if self.ca != nil, let authorities = try self.authorities() {
            options.inline.authorities = String(decoding: authorities, as: UTF8.self)
        }
        options.versions = self.versions
        // As in Go, and in the probers with a handshake of their own.
        options.requiresNames = true
        guard showsCertificate else { return options }
        // Problems of files alone are found when the files are used.
        if self.certificate != nil || self.key != nil { _ = try self.identity() }
        (options.clientCertificate, options.clientKey) = (self.certificateFile, self.keyFile)
        (options.inline.certificate, options.inline.key) = (self.certificate, self.key)
        return options
    }

    /// The trusted authorities in PEM; nil for the system's.
    ///
    /// - Throws: For an unreadable file, or a text without a certificate.
    func authorities() throws(TextError) -> [UInt8]? {
        guard let text = try Self.bytes(self.ca, orOf: self.caFile) else { return nil }
        guard CertificateVerifier.hasCertificates(text) else {
            throw TextError("\(self.caFile ?? "tls_config.ca") has no certificate in PEM")
        }
        return text
    }

    /// The client certificate with its key; nil for none.
    ///
    /// - Throws: For an unreadable file, or an invalid certificate or key; the error does not quote the key.
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
    /// True if `text` contains a PEM certificate.
    package static func hasCertificate(_ text: String) -> Bool {
        CertificateVerifier.hasCertificates(Array(text.utf8))
    }

    /// True if `text` contains a PEM key without a passphrase.
    package static func hasKey(_ text: String) -> Bool { ClientIdentity.hasKey(Array(text.utf8)) }

    /// False if the module contains both a certificate and a key that do not belong together.
    package var hasMatchingTexts: Bool {
        guard let certificate = self.certificate, let key = self.key else { return true }
        return ClientIdentity(certificate: Array(certificate.utf8), key: Array(key.utf8)).problem != .wrongKey
    }
}
