internal import TidegateCore
internal import TidegateProbes

/// The keys of a module's `tls_config`.
enum ProbeTLSSchema {
    static let fields: [Field<ProbeTLSOptions>] = [
        .value("ca_file", \.caFile, .path), .value("cert_file", \.certificateFile, .path),
        .value("key_file", \.keyFile, .path), .value("server_name", \.serverName, .host),
        .value("insecure_skip_verify", \.isInsecure, .boolean),
        .value("min_version", \.minVersion, .tlsVersion), .value("max_version", \.maxVersion, .tlsVersion),
        .notAvailable("ca"), .notAvailable("cert"), .notAvailable("key"), .notAvailable("ca_ref"),
        .notAvailable("cert_ref"), .notAvailable("key_ref"),
    ]

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
        if (options.certificateFile == nil) != (options.keyFile == nil) {
            problems.add("cert_file and key_file have to be given together", at: node)
        }
        if let lowest = options.minVersion, let highest = options.maxVersion, lowest > highest {
            problems.add("min_version is above max_version", at: node)
        }
    }
}
