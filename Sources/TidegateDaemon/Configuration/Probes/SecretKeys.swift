internal import TidegateCore
internal import TidegateProbes

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
    @Sendable
    static func checkScheme(_: SecretKeys, at node: ConfigurationNode, problems: inout ProblemList) {
        guard let type = node.value(of: "type"), case .scalar(let text) = type.content,
            text.lowercased() == "basic"
        else { return }
        problems.add("authorization type \"basic\" has to be written as basic_auth", at: type)
    }
}
