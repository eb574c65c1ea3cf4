internal import HTTPTypes
internal import Tidegate
internal import TidegateProbes

/// Options with the keys of Prometheus' HTTP clients.
protocol HTTPClientOptions: Sendable {
    var tls: ProbeTLSOptions { get set }
    var authorization: ProbeAuthorization? { get set }
    var oauth2: OAuth2Options? { get set }
    var secretHeaders: [SecretHeader] { get set }
}

extension HTTPProbeOptions: HTTPClientOptions {}
extension WebSocketProbeOptions: HTTPClientOptions {}

/// The keys that say whom a request of Prometheus' HTTP clients is from.
enum HTTPClientSchema {
    static func authorization<Options: HTTPClientOptions>() -> [Field<Options>] {
        [
            .section("basic_auth", from: { _ in SecretKeys() }, SecretKeys.basic) {
                $0.authorization = .basic(user: $1.user, password: $1.secret)
            },
            .section("authorization", from: { _ in SecretKeys() }, SecretKeys.token, check: SecretKeys.checkScheme) {
                $0.authorization = .token(scheme: $1.scheme, $1.secret)
            },
            .value("bearer_token", .text) { $0.authorization = .token(scheme: "Bearer", .text($1)) },
            .value("bearer_token_file", .path) { $0.authorization = .token(scheme: "Bearer", .file($1)) },
            .section("oauth2", from: { _ in OAuth2Options() }, Self.oauth2, check: Self.checkOAuth2) {
                $0.oauth2 = $1
            },
            Self.secretHeaders("http_headers", isReserved: Self.reservedHeaders.contains),
        ]
    }

    /// Keys that exclude each other.
    static let exclusive = ["basic_auth", "authorization", "bearer_token", "bearer_token_file", "oauth2"]

    // MARK: OAuth 2.0

    /// The keys of `oauth2`.
    private static let oauth2: [Field<OAuth2Options>] = [
        .value("client_id", \.clientID, .text, isRequired: true),
        .value("client_secret", .text) { $0.clientSecret = .text($1) },
        .value("client_secret_file", .path) { $0.clientSecret = .file($1) },
        .value("token_url", \.tokenURL, ValueParser<HTTPURL>.text("a URL") { try HTTPURL($0) }),
        .list("scopes", \.scopes, .text),
        .mapping("endpoint_params") { options, entry throws(TextError) in
            options.parameters[entry.key] = try ValueParser<String>.text.parse(entry.value)
        },
        .section("tls_config", \.tls, ProbeSchema.tls, check: ProbeSchema.checkTLS),
        .value("proxy_url", \.proxy.both, ValueParser<String>.proxy),
        .value("no_proxy", .text) { $0.proxy.exceptions = ProxyPolicy.exceptions($1) },
        .notAvailable("client_secret_ref"), .notAvailable("proxy_from_environment"),
        .notAvailable("proxy_connect_header"), .notAvailable("grant_type"),
    ]

    private static func checkOAuth2(_ options: OAuth2Options, _ section: inout SectionCheck) {
        if options.tokenURL == nil, section.node.value(of: "token_url") == nil {
            section.add("missing key \"token_url\"")
        }
        section.refuse(together: ["client_secret", "client_secret_file"])
    }

    // MARK: header fields

    /// Fields that have keys of their own, or that the protocol needs.
    private static let reservedHeaders: Set<String> = [
        "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type", "host",
        "keep-alive", "proxy-authenticate", "proxy-authorization", "user-agent", "www-authenticate",
        "x-prometheus-remote-read-version", "x-prometheus-remote-write-version",
        "x-prometheus-scrape-timeout-seconds",
    ]

    private static let headerKeys: [Field<[Secret]>] = [
        .list("values", .text) { $0 += $1.map(Secret.text) }, .list("secrets", .text) { $0 += $1.map(Secret.text) },
        .list("files", .path) { $0 += $1.map(Secret.file) },
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
    static func secretHeaders<Options: HTTPClientOptions>(
        _ key: String, isReserved: @escaping @Sendable (String) -> Bool
    ) -> Field<Options> {
        .mapping(key) { options, entry throws(TextError) in
            guard let name = HTTPField.Name(entry.key) else {
                throw TextError("\"\(entry.key)\" is not the name of a header field")
            }
            guard !isReserved(name.canonicalName) else {
                throw TextError("the field \(entry.key) cannot be set with \(key)")
            }
            var (secrets, problems) = ([Secret](), ProblemList(file: ""))
            problems.read(Self.headerKeys, from: entry.value, into: &secrets)
            if let problem = problems.entries.first { throw TextError(problem.message) }
            for case .text(let text) in secrets { try Self.check(text, of: entry.key) }
            options.secretHeaders += secrets.map { SecretHeader(name: entry.key, value: $0) }
        }
    }
}

/// The keys of `basic_auth` and `authorization`.
struct SecretKeys: Sendable {
    var scheme = "Bearer"
    var user = Secret.text("")
    var secret = Secret.text("")

    static let basic: [Field<SecretKeys>] = [
        .value("username", .text) { $0.user = .text($1) }, .value("username_file", .path) { $0.user = .file($1) },
        .value("password", .text) { $0.secret = .text($1) }, .value("password_file", .path) { $0.secret = .file($1) },
        .notAvailable("username_ref"), .notAvailable("password_ref"),
    ]

    static let token: [Field<SecretKeys>] = [
        .value("type", \.scheme, .text), .value("credentials", .text) { $0.secret = .text($1) },
        .value("credentials_file", .path) { $0.secret = .file($1) }, .notAvailable("credentials_ref"),
    ]

    /// Basic has keys of its own.
    static func checkScheme(_: SecretKeys, _ section: inout SectionCheck) {
        guard let type = section.node.value(of: "type"), case .scalar(let text) = type.content,
            text.lowercased() == "basic"
        else { return }
        section.add("authorization type \"basic\" has to be written as basic_auth", at: type)
    }
}
