internal import TidegateServer

/// The keys of the web configuration file, which all exporters of Prometheus share.
enum WebSchema {
    static let root: [Field<WebConfiguration>] = [
        .section("tls_server_config", \.tls, Self.tls, check: Self.checkTLS),
        .section(
            "http_server_config", \.http, [.value("http2", \.http2, .truth), .configuredHeaders("headers", \.headers)]),
        .users("basic_auth_users", \.users),
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
        .value("client_auth_type", \.client, .clientCertificate), .list("client_allowed_sans", \.clientNames, .text),
        .value("min_version", \.oldest, .word), .value("max_version", \.newest, .word),
        .list("cipher_suites", \.suites, .word), .list("curve_preferences", \.curves, .word),
        .value("prefer_server_cipher_suites", \.prefersOwnSuites, .truth),
    ]

    // MARK: what no single key can tell

    @Sendable
    private static func checkTLS(
        _ tls: WebConfiguration.TLS, node: ConfigurationNode, problems: inout ProblemList
    ) {
        let isWanted = Self.tls.contains { node.value(of: $0.key)?.isGiven == true }
        for (key, isNeeded) in [("cert", true), ("key", true), ("client_ca", false)] {
            let isText = node.value(of: key)?.isGiven == true
            let isFile = node.value(of: "\(key)_file")?.isGiven == true
            if isText, isFile {
                problems.add("\"\(key)\" and \"\(key)_file\" do not go together", at: node)
            } else if isWanted, isNeeded, !isText, !isFile {
                problems.add("the key \"\(key)_file\" is missing", at: node)
            }
        }
        self.checkClients(tls, node: node, problems: &problems)
        if (tls.oldest ?? .tls12) > (tls.newest ?? .tls13) {
            problems.add("\"min_version\" is newer than \"max_version\"", at: node)
        }
    }

    private static func checkClients(
        _ tls: WebConfiguration.TLS, node: ConfigurationNode, problems: inout ProblemList
    ) {
        let client = tls.client ?? .none
        for key in ["client_ca", "client_ca_file"] {
            guard client == .none, let value = node.value(of: key), value.isGiven else { continue }
            problems.add("needs a \"client_auth_type\" that asks for certificates", at: value)
        }
        guard let names = node.value(of: "client_allowed_sans"), names.isGiven else { return }
        if names.elements.isEmpty, tls.clientNames != nil {
            problems.add("expected one name at least; leave the key out to let all in", at: names)
        }
        if !client.isRequired {
            let words = "\"client_auth_type\" RequireAndVerifyClientCert or RequireAnyClientCert"
            problems.add("needs the \(words)", at: names)
        }
    }

    @Sendable
    private static func checkRate(
        _ rate: WebConfiguration.Rate, node: ConfigurationNode, problems: inout ProblemList
    ) {
        let burst = node.value(of: "burst")
        guard let limit = rate.limit, limit.burst < 1, rate.burst != nil || burst?.isGiven != true else { return }
        problems.add("a \"burst\" below 1 would answer nobody", at: burst ?? node)
    }
}

extension ConfigurationNode {
    /// False for `null` and for nothing.
    fileprivate var isGiven: Bool {
        if case .null = self.content { false } else { true }
    }
}

extension ValueKind<String> {
    fileprivate static let path = ValueKind.text("a path") { text throws(TextError) in
        guard !text.isEmpty, !text.hasSuffix("/") else { throw TextError("\"\(text)\" is not a path of a file") }
        return text
    }
}

extension ValueKind<TLSServerConfiguration.ClientCertificate> {
    // The second name is older; files that have it are still about.
    fileprivate static let clientCertificate = ValueKind.text("a word") { text throws(TextError) in
        text == "RequireClientCert" ? .required : try Value(word: text)
    }
}

extension ValueKind where Value: CaseIterable & RawRepresentable<String> {
    /// One of the words of a closed list.
    fileprivate static var word: ValueKind {
        .text("a word") { text throws(TextError) in try Value(word: text) }
    }
}

extension CaseIterable where Self: RawRepresentable<String> {
    fileprivate init(word: String) throws(TextError) {
        guard let value = Self(rawValue: word) else {
            throw TextError("\"\(word)\" is not one of \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = value
    }
}
