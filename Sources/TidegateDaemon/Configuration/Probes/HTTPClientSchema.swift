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
            .section("basic_auth", blank: SecretKeys(), SecretKeys.basic) {
                $0.authorization = .basic(user: $1.user, password: $1.secret)
            },
            .section("authorization", blank: SecretKeys(), SecretKeys.token, check: SecretKeys.checkScheme) {
                $0.authorization = .token(scheme: $1.scheme, $1.secret)
            },
            .value("bearer_token", .text) { $0.authorization = .token(scheme: "Bearer", .text($1)) },
            .value("bearer_token_file", .path) { $0.authorization = .token(scheme: "Bearer", .file($1)) },
            .section("oauth2", blank: OAuth2Options(), OAuth2Schema.fields, check: OAuth2Schema.check) {
                $0.oauth2 = $1
            },
            SecretHeaderSchema.field("http_headers", isReserved: SecretHeaderSchema.reserved.contains),
        ]
    }

    /// Keys that exclude each other.
    static let exclusive = ["basic_auth", "authorization", "bearer_token", "bearer_token_file", "oauth2"]
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
