internal import TidegateCore
internal import TidegateProbes

/// The keys of a module's `tls_config`.
enum ProbeTLSSchema {
    static let fields: [Field<ProbeTLSOptions>] =
        [
            .value("ca", \.ca, Self.certificates), .value("ca_file", \.caFile, .path),
            .value("cert", \.certificate, Self.certificates), .value("cert_file", \.certificateFile, .path),
            .value("key", \.key, Self.key), .value("key_file", \.keyFile, .path),
            .value("server_name", \.serverName, .serverName),
            .value("insecure_skip_verify", \.isInsecure, .boolean),
            .value("min_version", \.minVersion, .tlsVersion), .value("max_version", \.maxVersion, .tlsVersion),
        ] + ["ca", "cert", "key"].map { .refused("\($0)_ref", "needs a secret manager; give \($0) or \($0)_file") }

    private static let certificates = Self.pem("there is no certificate in PEM in the text") {
        ProbeTLSOptions.hasCertificate($0)
    }
    private static let key = Self.pem("there is no key in PEM without a passphrase in the text") {
        ProbeTLSOptions.hasKey($0)
    }

    // An empty text is none. It may be a key: no message quotes it.
    private static func pem(
        _ problem: String, _ isGood: @escaping @Sendable (String) -> Bool
    ) -> ValueParser<String?> {
        ValueParser { node throws(TextError) in
            guard case .scalar(let text) = node.content else { throw TextError("expected a text in PEM") }
            guard !text.isEmpty else { return nil }
            guard isGood(text) else { throw TextError(problem) }
            return text
        }
    }

    static func check(_ options: ProbeTLSOptions, _ section: inout SectionCheck) {
        for key in ["ca", "cert", "key"] { section.refuse(together: [key, "\(key)_file"]) }
        let hasCertificate = options.certificate != nil || options.certificateFile != nil
        if hasCertificate != (options.key != nil || options.keyFile != nil) {
            section.add("cert or cert_file has to be given together with key or key_file")
        }
        if !options.hasMatchingTexts { section.add("key is not that of the certificate in cert") }
        if let lowest = options.minVersion, let highest = options.maxVersion, lowest > highest {
            section.add("min_version is above max_version")
        }
    }
}
