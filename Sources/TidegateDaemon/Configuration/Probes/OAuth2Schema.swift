internal import HTTPTypes
internal import Tidegate
internal import TidegateProbes

/// The keys of a module's `oauth2`.
enum OAuth2Schema {
    static let fields: [Field<OAuth2Options>] = [
        .value("client_id", \.clientID, .text, isRequired: true),
        .value("client_secret", .text) { $0.clientSecret = .text($1) },
        .value("client_secret_file", .path) { $0.clientSecret = .file($1) },
        .value("token_url", \.tokenURL, .tokenURL),
        .list("scopes", \.scopes, .text),
        .mapping("endpoint_params") { options, entry throws(TextError) in
            options.parameters[entry.key] = try ValueParser<String>.text.parse(entry.value)
        },
        .section("tls_config", \.tls, ProbeTLSSchema.fields, check: ProbeTLSSchema.check),
        .value("proxy_url", \.proxy.both, ValueParser<String>.proxy),
        .value("no_proxy", .text) { $0.proxy.exceptions = ProxyPolicy.exceptions($1) },
        .notAvailable("client_secret_ref"), .notAvailable("proxy_from_environment"),
        .notAvailable("proxy_connect_header"), .notAvailable("grant_type"),
    ]

    static func check(_ options: OAuth2Options, _ section: inout SectionCheck) {
        if options.tokenURL == nil, section.node.value(of: "token_url") == nil {
            section.add("missing key \"token_url\"")
        }
        section.refuse(together: ["client_secret", "client_secret_file"])
    }
}

/// Header fields as Prometheus' HTTP clients have them: with `values`, `secrets` and `files`.
enum SecretHeaderSchema {
    /// Fields that have keys of their own, or that the protocol needs.
    static let reserved: Set<String> = [
        "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type", "host",
        "keep-alive", "proxy-authenticate", "proxy-authorization", "user-agent", "www-authenticate",
        "x-prometheus-remote-read-version", "x-prometheus-remote-write-version",
        "x-prometheus-scrape-timeout-seconds",
    ]

    private struct Keys: Sendable {
        var values: [String] = []
        var secrets: [String] = []
        var files: [String] = []
    }

    private static let keys: [Field<Keys>] = [
        .list("values", \.values, .text), .list("secrets", \.secrets, .text), .list("files", \.files, .path),
    ]

    /// The key `proxy_connect_header`: lists of values by the names of fields.
    static let proxyField = Field<HTTPProbeOptions>.mapping("proxy_connect_header") {
        options, entry throws(TextError) in
        guard HTTPField.Name(entry.key) != nil else {
            throw TextError("\"\(entry.key)\" is not the name of a header field")
        }
        guard case .list(let nodes) = entry.value.content else {
            throw TextError("expected a list, found \(entry.value.summary)")
        }
        for node in nodes {
            let value = try ValueParser<String>.text.parse(node)
            try Self.check(value, of: entry.key)
            options.proxyHeaders.append(SecretHeader(name: entry.key, value: .text(value)))
        }
    }

    // It may be a secret, which is not repeated.
    private static func check(_ value: String, of name: String) throws(TextError) {
        guard !HTTPField.isValidValue(value) else { return }
        throw TextError("the value of \(name) has a character that a field cannot have")
    }

    /// A key with fields by their names.
    static func field<Options: HTTPClientOptions>(
        _ key: String, isReserved: @escaping @Sendable (String) -> Bool
    ) -> Field<Options> {
        .mapping(key) { options, entry throws(TextError) in
            guard let name = HTTPField.Name(entry.key) else {
                throw TextError("\"\(entry.key)\" is not the name of a header field")
            }
            guard !isReserved(name.canonicalName) else {
                throw TextError("the field \(entry.key) cannot be set with \(key)")
            }
            var (keys, problems) = (Keys(), ProblemList(file: ""))
            problems.read(Self.keys, from: entry.value, into: &keys)
            if let problem = problems.entries.first { throw TextError(problem.message) }
            for text in keys.values + keys.secrets { try Self.check(text, of: entry.key) }
            let texts = (keys.values + keys.secrets).map(Secret.text)
            options.secretHeaders += (texts + keys.files.map(Secret.file)).map {
                SecretHeader(name: entry.key, value: $0)
            }
        }
    }
}
