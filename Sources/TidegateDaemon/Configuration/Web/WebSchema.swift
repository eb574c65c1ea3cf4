internal import HTTPTypes
internal import TidegateCore
internal import TidegateServer

/// The keys of the web configuration file, in the format of Prometheus's exporter-toolkit.
enum WebSchema {
    static let root: [Field<WebConfiguration>] = [
        .section("tls_server_config", \.tls, Self.tls, check: Self.checkTLS),
        .section(
            "http_server_config", \.self,
            [.value("http2", \.http2, .boolean), .mapping("headers", Self.readHeader)]),
        .mapping("basic_auth_users", Self.readUser),
        .section(
            "rate_limit", \.self,
            [
                .value("interval", \.interval, .duration(atLeast: .zero)),
                .value("burst", \.burst, .number(in: 0...1_000_000)),
            ]),
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

    // MARK: entries

    // The response header fields that an operator may set, in the only accepted spelling, as in Prometheus' exporters.
    // Each has its allowed values; an empty list allows any value.
    private static let headers: KeyValuePairs<String, [String]> = [
        "Content-Security-Policy": [], "X-Frame-Options": ["deny", "sameorigin"], "X-Content-Type-Options": ["nosniff"],
        "X-XSS-Protection": [], "Strict-Transport-Security": [],
    ]

    /// Adds a response header field; an empty value adds nothing.
    private static func readHeader(_ configuration: inout WebConfiguration, _ entry: ConfigurationNode.Entry)
        throws(TextError)
    {
        guard let values = self.headers.first(where: { $0.key == entry.key })?.value,
            let name = HTTPField.Name(entry.key)
        else {
            let nearest = NearestMatch.find(entry.key, among: self.headers.map(\.key))
            let hint = nearest.map { " (did you mean \"\($0)\"?)" } ?? ""
            throw TextError("this header cannot be configured\(hint)")
        }
        let text: String
        switch entry.value.content {
        case .null: text = ""
        case .scalar(let value): text = value
        case .list, .section: throw TextError("expected a string, found \(entry.value.summary)")
        }
        guard HTTPField.isValidValue(text) else { throw TextError("contains a control character") }
        guard values.isEmpty || values.contains(text) else {
            throw TextError("\"\(text)\" is not one of \(values.joined(separator: ", "))")
        }
        if !text.isEmpty { configuration.policy.headers.append(HTTPField(name: name, value: text)) }
    }

    /// Adds a user with a password hash.
    private static func readUser(_ configuration: inout WebConfiguration, _ entry: ConfigurationNode.Entry)
        throws(TextError)
    {
        guard !entry.key.contains(":") else { throw TextError("a user name must not contain a colon") }
        configuration.policy.users[entry.key] = try BcryptHash(checking: entry.value)
    }

    // MARK: checks across keys

    private static func checkTLS(_ tls: WebConfiguration.TLS, _ section: inout SectionCheck) {
        let isWanted = Self.tls.contains { [section] in section.isGiven($0.key) }
        for (key, isNeeded) in [("cert", true), ("key", true), ("client_ca", false)] {
            let (isText, isFile) = (section.isGiven(key), section.isGiven("\(key)_file"))
            if isText, isFile {
                section.add("\"\(key)\" and \"\(key)_file\" are mutually exclusive")
            } else if isWanted, isNeeded, !isText, !isFile {
                section.add("missing key \"\(key)_file\"")
            }
        }
        self.checkClients(tls.serving, &section)
        if tls.serving.minimumVersion > tls.serving.maximumVersion {
            section.add("\"min_version\" is newer than \"max_version\"")
        }
    }

    private static func checkClients(_ tls: TLSServerConfiguration, _ section: inout SectionCheck) {
        let client = tls.clientCertificate
        for key in ["client_ca", "client_ca_file"] {
            guard client == .none, let value = section.node.value(of: key), value.isGiven else { continue }
            section.add("requires a \"client_auth_type\" that requests certificates", at: value)
        }
        guard let names = section.node.value(of: "client_allowed_sans"), names.isGiven else { return }
        if names.elements.isEmpty, tls.allowedClientNames != nil {
            section.add("expected at least one name; omit the key to allow all", at: names)
        }
        if !client.isRequired {
            let types = "RequireAndVerifyClientCert or RequireAnyClientCert"
            section.add("requires the \"client_auth_type\" \(types)", at: names)
        }
    }
}

extension BcryptHash {
    // The value may be the password itself, so it is not quoted.
    fileprivate init(checking node: ConfigurationNode) throws(TextError) {
        guard case .scalar(let text) = node.content, let hash = BcryptHash(text) else {
            throw TextError("not a bcrypt hash; generate one with htpasswd -nBC 10 NAME")
        }
        guard BcryptHash.supportedCosts.contains(hash.cost) else {
            throw TextError("bcrypt cost \(hash.cost) is out of range (4 to 18)")
        }
        self = hash
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

/// The file of `--web.config.file`; absent keys have their defaults.
struct WebConfiguration: Sendable, Hashable {
    /// The users and the header fields.
    var policy = AccessPolicy()
    var tls = TLS()
    /// Ignored: the server speaks HTTP/1.1 only.
    var http2: Bool?
    var interval: Duration?
    var burst: Int?

    /// The rate limit; nil without one.
    var limit: RateLimit? {
        guard let interval = self.interval, interval > .zero else { return nil }
        return RateLimit(interval: interval, burst: self.burst ?? 0)
    }

    /// The `tls_server_config` section.
    struct TLS: Sendable, Hashable {
        var certificate: String?
        var certificateFile: String?
        var key: String?
        var keyFile: String?
        var clientAuthorities: String?
        var clientAuthoritiesFile: String?
        /// The remaining settings, without certificates and keys.
        var serving = TLSServerConfiguration()
        /// Ignored, as in Go: suites of equal strength keep the server's order.
        var prefersOwnSuites: Bool?
    }
}

extension WebConfiguration {
    /// Settings without effect here, one sentence for each key; other exporters may use the same file.
    var keysWithoutEffect: [String] {
        var sentences: [String] = []
        if self.http2 == true {
            sentences.append("http_server_config.http2 has no effect: the endpoint speaks HTTP/1.1 only")
        }
        if self.tls.prefersOwnSuites != nil {
            sentences.append(
                "tls_server_config.prefer_server_cipher_suites has no effect: suites are in the server's order")
        }
        let fixed = self.tls.serving.cipherSuites.filter { !$0.contains("_WITH_") }
        if !fixed.isEmpty {
            sentences.append(
                "tls_server_config.cipher_suites: \(fixed.joined(separator: ", ")) has no effect: the suites of TLS 1.3 "
                    + "cannot be chosen")
        }
        return sentences
    }

    /// Users whose passwords take a processor for seconds, one sentence for each.
    var expensiveUsers: [String] {
        self.policy.users.filter { $0.value.cost > 14 }.sorted { $0.key < $1.key }.map { user, hash in
            "basic_auth_users.\(user): the bcrypt cost \(hash.cost) takes a processor for seconds at each login; 10 to 14 "
                + "is usual"
        }
    }
}
