internal import TidegateCore
internal import TidegateProbes

/// The keys of a module's `tls_config`.
enum ProbeTLSSchema {
    static let fields: [Field<ProbeTLSOptions>] =
        [
            .value("ca", \.ca, .pem), .value("ca_file", \.caFile, .path),
            .value("cert", \.certificate, .pem), .value("cert_file", \.certificateFile, .path),
            .value("key", \.key, .pem), .value("key_file", \.keyFile, .path),
            .value("server_name", \.serverName, .serverName),
            .value("insecure_skip_verify", \.isInsecure, .boolean),
            .value("min_version", \.minVersion, .tlsVersion), .value("max_version", \.maxVersion, .tlsVersion),
        ] + ["ca", "cert", "key"].map { .refused("\($0)_ref", "needs a secret manager; give \($0) or \($0)_file") }

    /// The same where the server's name cannot be an address.
    @Sendable
    static func checkWithName(_ options: ProbeTLSOptions, at node: ConfigurationNode, problems: inout ProblemList) {
        self.check(options, at: node, problems: &problems)
        if let name = options.serverName, (try? Target(name))?.address != nil {
            problems.add("server_name is an address; only names are available in this version", at: node)
        }
    }

    @Sendable
    static func check(_ options: ProbeTLSOptions, at node: ConfigurationNode, problems: inout ProblemList) {
        for key in ["ca", "cert", "key"] {
            HTTPClientSchema.refuse(together: [key, "\(key)_file"], at: node, problems: &problems)
        }
        let hasCertificate = options.certificate != nil || options.certificateFile != nil
        if hasCertificate != (options.key != nil || options.keyFile != nil) {
            problems.add("cert or cert_file has to be given together with key or key_file", at: node)
        }
        if let lowest = options.minVersion, let highest = options.maxVersion, lowest > highest {
            problems.add("min_version is above max_version", at: node)
        }
    }
}
