internal import FoundationEssentials
internal import HTTPTypes
internal import Tidegate
internal import TidegateProbes

/// The keys of a module's `http`, including those of Prometheus' HTTP clients.
enum HTTPProbeSchema {
    static let fields: [Field<HTTPProbeOptions>] = Self.request + Self.conditions + Self.client

    private static let request: [Field<HTTPProbeOptions>] = [
        .value("preferred_ip_protocol", \.family.family, .ipProtocol),
        .value("ip_protocol_fallback", \.family.allowsFallback, .boolean),
        .value("source_ip_address", \.source.address, .sourceAddress),
        .value("source_interface", \.source.interface, .interface),
        .value("skip_resolve_phase_with_proxy", \.skipsResolveWithProxy, .boolean),
        .value("no_follow_redirects", .boolean) { $0.followsRedirects = !$1 },
        .value("follow_redirects", \.followsRedirects, .boolean),
        .value("enable_http2", \.allowsHTTP2, .boolean),
        .value("method", \.method, .sentMethod),
        .headers("headers") { options, field in options.headers.append(field) },
        .value("body", .text) { $0.body = .text($1) }, .file("body_file") { $0.body = .file($1) },
        .value("compression", \.coding, .bodyCoding),
        .value("body_size_limit", \.maxBodyBytes, .base2Bytes),
    ]

    private static let conditions: [Field<HTTPProbeOptions>] = [
        .value("accept_any_response", \.acceptsAnyStatus, .boolean),
        .list("valid_status_codes", \.validStatuses, .number(in: 100...999)),
        .list("valid_http_versions", \.validVersions, .text),
        .value("fail_if_ssl", \.failsIfTLS, .boolean), .value("fail_if_not_ssl", \.failsIfNotTLS, .boolean),
        .list("fail_if_body_matches_regexp", \.failsIfBodyMatches, .pattern),
        .list("fail_if_body_not_matches_regexp", \.failsIfBodyDoesNotMatch, .pattern),
        .list("fail_if_header_matches", \.failsIfHeaderMatches, .headerCondition),
        .list("fail_if_header_not_matches", \.failsIfHeaderDoesNotMatch, .headerCondition),
        .value("fail_if_body_json_matches_cel", \.failsIfJSONMatches, .expression),
        .value("fail_if_body_json_not_matches_cel", \.failsIfJSONDoesNotMatch, .expression),
    ]

    private static let client: [Field<HTTPProbeOptions>] =
        HTTPClientSchema.authorization() + [
            .section("tls_config", \.tls, ProbeSchema.tls, check: ProbeSchema.checkTLS),
            .value("proxy_url", \.proxy.both, ValueParser<String?>.optionalProxy),
            .value("no_proxy", .text) { $0.proxy.exceptions = ProxyPolicy.exceptions($1) },
            // Read with the file; a later reload sees the same environment, which is the process's own.
            .value("proxy_from_environment", .boolean) { options, isWanted in
                if isWanted { options.proxy = ProxyPolicy(environment: ProcessInfo.processInfo.environment) }
            },
            HTTPClientSchema.proxyField, .notAvailable("enable_http3"),
        ]

    /// Rejects keys that exclude each other.
    static func check(_ options: HTTPProbeOptions, _ section: inout SectionCheck) {
        for keys in [
            ["body", "body_file"], HTTPClientSchema.exclusive,
            ["no_follow_redirects", "follow_redirects"], ["proxy_url", "proxy_from_environment"],
            ["no_proxy", "proxy_from_environment"],
        ] {
            section.refuse(together: keys)
        }
        guard let coding = options.coding,
            let accepted = options.headers.last(where: { $0.name == .acceptEncoding })?.value,
            !self.accepts(coding.rawValue, in: accepted)
        else { return }
        section.add("Accept-Encoding \"\(accepted)\" does not accept the compression \(coding.rawValue)")
    }

    // The codings in Accept-Encoding have weights; an unnamed coding has the weight of "*".
    private static func accepts(_ coding: String, in field: String) -> Bool {
        let weights = field.split(separator: ",").reduce(into: [String: Double]()) { weights, part in
            let fields = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let name = fields.first else { return }
            let weight = fields.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            weights[name] = weight ?? 1
        }
        return (weights[coding] ?? weights["*"] ?? 0) > 0
    }
}

/// Options with the keys of Prometheus' HTTP clients.
protocol HTTPClientOptions: Sendable {
    var tls: ProbeTLSOptions { get set }
    var authorization: ProbeAuthorization? { get set }
    var oauth2: OAuth2Options? { get set }
    var secretHeaders: [SecretHeader] { get set }
}

extension HTTPProbeOptions: HTTPClientOptions {}
extension WebSocketProbeOptions: HTTPClientOptions {}

/// The keys by which Prometheus' HTTP clients authenticate.
enum HTTPClientSchema {
    static func authorization<Options: HTTPClientOptions>() -> [Field<Options>] {
        [
            .section("basic_auth", from: { _ in SecretKeys() }, SecretKeys.basic) {
                $0.authorization = .basic(user: $1.user, password: $1.secret)
            },
            .section("authorization", from: { _ in SecretKeys() }, SecretKeys.token, check: SecretKeys.checkScheme) {
                $0.authorization = .token(scheme: $1.scheme, $1.secret)
            },
            .value("bearer_token", .text) { options, token in
                if !token.isEmpty { options.authorization = .token(scheme: "Bearer", .text(token)) }
            },
            .file("bearer_token_file") { $0.authorization = .token(scheme: "Bearer", .file($1)) },
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
        .file("client_secret_file") { $0.clientSecret = .file($1) },
        .value("token_url", \.tokenURL, ValueParser<HTTPURL>.text("a URL") { try HTTPURL($0) }),
        .list("scopes", \.scopes, .text),
        .mapping("endpoint_params") { options, entry throws(TextError) in
            options.parameters[entry.key] = try ValueParser<String>.textOrNothing.parse(entry.value)
        },
        .section("tls_config", \.tls, ProbeSchema.tls, check: ProbeSchema.checkTLS),
        .value("proxy_url", \.proxy.both, ValueParser<String?>.optionalProxy),
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

    /// The key `proxy_connect_header`: lists of values by field name.
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

    // The value may be a secret, so no message quotes it.
    private static func check(_ value: String, of name: String) throws(TextError) {
        guard !HTTPField.isValidValue(value) else { return }
        throw TextError("the value of \(name) has a character that a field cannot contain")
    }

    /// A key with header fields by name.
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
            var (secrets, problems) = ([Secret](), ProblemList())
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
        .value("username", .text) { $0.user = .text($1) }, .file("username_file") { $0.user = .file($1) },
        .value("password", .text) { $0.secret = .text($1) }, .file("password_file") { $0.secret = .file($1) },
        .notAvailable("username_ref"), .notAvailable("password_ref"),
    ]

    static let token: [Field<SecretKeys>] = [
        .value("type", .text) { $0.scheme = $1.isEmpty ? "Bearer" : $1 },
        .value("credentials", .text) { $0.secret = .text($1) },
        .file("credentials_file") { $0.secret = .file($1) }, .notAvailable("credentials_ref"),
    ]

    /// Rejects the scheme Basic, which has its own keys.
    static func checkScheme(_: SecretKeys, _ section: inout SectionCheck) {
        guard let type = section.node.value(of: "type"), case .scalar(let text) = type.content,
            text.lowercased() == "basic"
        else { return }
        section.add("authorization type \"basic\" has to be written as basic_auth", at: type)
    }
}
