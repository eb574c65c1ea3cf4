internal import TidegateCore
internal import TidegateServer

/// The keys of the web configuration file, in the format of Prometheus's exporter-toolkit.
enum WebSchema {
    static let root: [Field<WebConfiguration>] = [
        .section("tls_server_config", \.tls, Self.tls, check: Self.checkTLS),
        .section(
            "http_server_config", \.http,
            [.value("http2", \.http2, .boolean), .mapping("headers", Self.readHeader)]),
        .mapping("basic_auth_users", Self.readUser),
        .section(
            "rate_limit", \.rate,
            [
                .value("interval", \.interval, .duration(atLeast: .zero)),
                .value("burst", \.burst, .number(in: 0...1_000_000)),
            ], check: Self.checkRate),
    ]

    static let tls: [Field<WebConfiguration.TLS>] = [
        .value("cert", \.certificate, .text), .value("cert_file", \.certificateFile, .path),
        .value("key", \.key, .text), .value("key_file", \.keyFile, .path),
        .value("client_ca", \.clientAuthorities, .text), .value("client_ca_file", \.clientAuthoritiesFile, .path),
        .value("client_auth_type", \.serving.clientCertificate, .clientCertificate),
        .list("client_allowed_sans", .text) { $0.serving.allowedClientNames = Set($1) },
        .value("min_version", \.serving.minimumVersion, .name), .value("max_version", \.serving.maximumVersion, .name),
        .list("cipher_suites", \.serving.cipherSuites, .cipherSuite),
        .list("curve_preferences", \.serving.curves, .name),
        .value("prefer_server_cipher_suites", \.prefersOwnSuites, .boolean),
    ]

    // MARK: checks across keys

    @Sendable
    private static func checkTLS(
        _ tls: WebConfiguration.TLS, node: ConfigurationNode, problems: inout ProblemList
    ) {
        let isWanted = Self.tls.contains { node.value(of: $0.key)?.isGiven == true }
        for (key, isNeeded) in [("cert", true), ("key", true), ("client_ca", false)] {
            let isText = node.value(of: key)?.isGiven == true
            let isFile = node.value(of: "\(key)_file")?.isGiven == true
            if isText, isFile {
                problems.add("\"\(key)\" and \"\(key)_file\" are mutually exclusive", at: node)
            } else if isWanted, isNeeded, !isText, !isFile {
                problems.add("missing key \"\(key)_file\"", at: node)
            }
        }
        self.checkClients(tls, node: node, problems: &problems)
        if tls.serving.minimumVersion > tls.serving.maximumVersion {
            problems.add("\"min_version\" is newer than \"max_version\"", at: node)
        }
    }

    private static func checkClients(
        _ tls: WebConfiguration.TLS, node: ConfigurationNode, problems: inout ProblemList
    ) {
        let client = tls.serving.clientCertificate
        for key in ["client_ca", "client_ca_file"] {
            guard client == .none, let value = node.value(of: key), value.isGiven else { continue }
            problems.add("requires a \"client_auth_type\" that requests certificates", at: value)
        }
        guard let names = node.value(of: "client_allowed_sans"), names.isGiven else { return }
        if names.elements.isEmpty, tls.serving.allowedClientNames != nil {
            problems.add("expected at least one name; omit the key to allow all", at: names)
        }
        if !client.isRequired {
            let types = "RequireAndVerifyClientCert or RequireAnyClientCert"
            problems.add("requires the \"client_auth_type\" \(types)", at: names)
        }
    }

    @Sendable
    private static func checkRate(
        _ rate: WebConfiguration.Rate, node: ConfigurationNode, problems: inout ProblemList
    ) {
        let burst = node.value(of: "burst")
        guard let limit = rate.limit, limit.burst < 1, rate.burst != nil || burst?.isGiven != true else { return }
        problems.add("\"burst\" must be at least 1", at: burst ?? node)
    }
}

extension ValueParser<String> {
    fileprivate static let cipherSuite = ValueParser.oneOf(TLSServerConfiguration.supportedCipherSuites) { $0 }
}

extension ValueParser<TLSServerConfiguration.ClientCertificate> {
    // The deprecated name is still in use.
    fileprivate static let clientCertificate = ValueParser { node throws(TextError) in
        if case .scalar("RequireClientCert") = node.content { return .required }
        return try ValueParser.name.parse(node)
    }
}
