internal import TidegateCore
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
            .section("basic_auth", \.basicAuthorization, SecretKeys.basic),
            .section("authorization", \.tokenAuthorization, SecretKeys.token, check: SecretKeys.checkScheme),
            .value("bearer_token", \.bearerToken, .text), .value("bearer_token_file", \.bearerTokenFile, .path),
            .section("oauth2", \.oauth2OrNew, OAuth2Schema.fields, check: OAuth2Schema.check),
            SecretHeaderSchema.field("http_headers", isReserved: SecretHeaderSchema.reserved.contains),
        ]
    }

    /// Keys that exclude each other.
    static let exclusive = ["basic_auth", "authorization", "bearer_token", "bearer_token_file", "oauth2"]

    /// Refuses keys of which only one may be given.
    static func refuse(together keys: [String], at node: ConfigurationNode, problems: inout ProblemList) {
        let given = keys.filter { node.value(of: $0)?.isGiven ?? false }
        if given.count > 1 { problems.add("\(given.joined(separator: " and ")) are mutually exclusive", at: node) }
    }
}

extension HTTPClientOptions {
    // The keys as the file has them.
    fileprivate var oauth2OrNew: OAuth2Options {
        get { self.oauth2 ?? OAuth2Options() }
        set { self.oauth2 = newValue }
    }
    fileprivate var bearerToken: String? {
        get { nil }
        set { self.authorization = newValue.map { .token(scheme: "Bearer", .text($0)) } }
    }
    fileprivate var bearerTokenFile: String? {
        get { nil }
        set { self.authorization = newValue.map { .token(scheme: "Bearer", .file($0)) } }
    }
    fileprivate var basicAuthorization: SecretKeys {
        get { SecretKeys() }
        set { self.authorization = .basic(user: newValue.user, password: newValue.secret) }
    }
    fileprivate var tokenAuthorization: SecretKeys {
        get { SecretKeys() }
        set { self.authorization = .token(scheme: newValue.scheme, newValue.secret) }
    }
}
