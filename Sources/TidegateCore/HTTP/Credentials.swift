/// A user and a password.
public struct Credentials: Sendable, Hashable {
    /// The user's name, without a colon.
    public var user: String
    /// The password.
    public var password: String

    /// Credentials from their parts.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}
