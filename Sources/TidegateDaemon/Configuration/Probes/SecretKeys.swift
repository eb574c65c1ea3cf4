internal import TidegateCore
internal import TidegateProbes

/// The keys of `basic_auth` and `authorization`.
struct SecretKeys: Sendable {
    var scheme = "Bearer"
    var user = Secret.text("")
    var secret = Secret.text("")

    static let basic: [Field<SecretKeys>] = [
        .value("username", \.userText, .text), .value("username_file", \.userFile, .path),
        .value("password", \.text, .text), .value("password_file", \.file, .path),
        .notAvailable("username_ref"), .notAvailable("password_ref"),
    ]

    static let token: [Field<SecretKeys>] = [
        .value("type", \.scheme, .text), .value("credentials", \.text, .text),
        .value("credentials_file", \.file, .path), .notAvailable("credentials_ref"),
    ]

    /// Basic has keys of its own.
    @Sendable
    static func checkScheme(_: SecretKeys, at node: ConfigurationNode, problems: inout ProblemList) {
        guard let type = node.value(of: "type"), case .scalar(let text) = type.content,
            text.lowercased() == "basic"
        else { return }
        problems.add("authorization type \"basic\" has to be written as basic_auth", at: type)
    }

    private var userText: String {
        get { "" }
        set { self.user = .text(newValue) }
    }
    private var userFile: String {
        get { "" }
        set { self.user = .file(newValue) }
    }
    private var text: String {
        get { "" }
        set { self.secret = .text(newValue) }
    }
    private var file: String {
        get { "" }
        set { self.secret = .file(newValue) }
    }
}
