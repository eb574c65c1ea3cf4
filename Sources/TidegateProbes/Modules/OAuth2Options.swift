package import TidegateCore
package import TidegateSession

/// How a probe gets an access token: the client credentials grant (RFC 6749 4.4).
package struct OAuth2Options: Sendable, Hashable {
    package var clientID = ""
    package var clientSecret = Secret.text("")
    package var scopes: [String] = []
    /// Where tokens are asked for; nil until it is read.
    package var tokenURL: HTTPURL?
    /// What is sent besides, by name.
    package var parameters: [String: String] = [:]
    package var tls = ProbeTLSOptions()
    package var proxy = ProxyPolicy.direct

    /// Options without a client.
    package init() {}
}

/// A header field whose value may be a secret: it goes to the first origin only, and is shown nowhere.
package struct SecretHeader: Sendable, Hashable {
    package var name: String
    package var value: Secret

    /// A field from its parts.
    package init(name: String, value: Secret) {
        self.name = name
        self.value = value
    }
}
