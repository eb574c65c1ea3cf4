package import HTTPTypes
package import TidegateCEL
package import TidegateCore
package import TidegateSession

/// The request of the prober `http`, and its conditions for success.
package struct HTTPProbeOptions: Sendable, Hashable {
    package var method = "GET"
    package var headers: [HTTPField] = []
    /// Header fields that may be secrets.
    package var secretHeaders: [SecretHeader] = []
    package var body: ProbeBody?
    package var followsRedirects = true
    package var allowsHTTP2 = true
    package var family = FamilyPreference()
    package var source = ProbeSource()
    package var tls = ProbeTLSOptions()
    package var authorization: ProbeAuthorization?
    /// How to obtain an access token; nil for none.
    package var oauth2: OAuth2Options?
    package var proxy = ProxyPolicy.direct
    /// Header fields for the proxy only, sent with CONNECT.
    package var proxyHeaders: [SecretHeader] = []
    /// True if a proxy, when there is one, resolves names.
    package var skipsResolveWithProxy = false

    /// True if every status is a success.
    package var acceptsAnyStatus = false
    /// The successful statuses; empty for 200 to 299.
    package var validStatuses: [Int] = []
    /// The successful protocol versions, such as `HTTP/1.1` or `HTTP/2.0`; empty for all.
    package var validVersions: [String] = []
    package var failsIfTLS = false
    package var failsIfNotTLS = false
    package var failsIfBodyMatches: [RegularExpression] = []
    package var failsIfBodyDoesNotMatch: [RegularExpression] = []
    /// An expression that must not be true of the body, which must be a JSON document.
    package var failsIfJSONMatches: CELExpression?
    /// An expression that must be true of it.
    package var failsIfJSONDoesNotMatch: CELExpression?
    package var failsIfHeaderMatches: [HeaderCondition] = []
    package var failsIfHeaderDoesNotMatch: [HeaderCondition] = []
    /// The encoding of bodies; nil uses them as received.
    package var coding: BodyCoding?
    /// The maximum size of a decoded body in bytes; nil for no limit.
    package var maxBodyBytes: Int?

    /// blackbox_exporter's defaults.
    package init() {}

    /// True for a safe method (RFC 9110 9.2.1).
    static func isSafe(_ method: String) -> Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method) }

    /// True if bodies are examined.
    var examinesBody: Bool { self.matchesBody || self.examinesJSON }

    /// True if regular expressions search bodies.
    var matchesBody: Bool { !self.failsIfBodyMatches.isEmpty || !self.failsIfBodyDoesNotMatch.isEmpty }

    /// True if bodies must be JSON.
    var examinesJSON: Bool { self.failsIfJSONMatches != nil || self.failsIfJSONDoesNotMatch != nil }

    /// The value of the header field Host; nil without one.
    var hostHeader: String? { self.headers.last { $0.name.canonicalName == "host" }?.value }
}

/// A condition on the values of a header field.
package struct HeaderCondition: Sendable, Hashable {
    package var name: HTTPField.Name
    package var pattern: RegularExpression
    /// True if a response without the field passes.
    package var allowsMissing: Bool

    /// A condition with these values.
    package init(name: HTTPField.Name, pattern: RegularExpression, allowsMissing: Bool = false) {
        self.name = name
        self.pattern = pattern
        self.allowsMissing = allowsMissing
    }
}

/// The body of a probe's request.
package enum ProbeBody: Sendable, Hashable {
    case text(String)
    /// The content of a file, read for every probe.
    case file(String)
}

/// The certificates that a probe trusts, and the one that it presents.
package struct ProbeTLSOptions: Sendable, Hashable {
    /// A PEM file with the trusted authorities; nil for the system's.
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    /// The authorities in PEM, instead of a file.
    package var ca: String?
    /// The client certificate in PEM, instead of a file.
    package var certificate: String?
    /// Its key in PEM, instead of a file; a secret.
    package var key: String?
    /// The name that the certificate must be valid for; nil for the target's.
    package var serverName: String?
    package var isInsecure = false
    /// The lowest accepted version; nil for TLS 1.2, or ``maxVersion`` if that is lower.
    package var minVersion: TLSVersion?
    /// The highest accepted version; nil for TLS 1.3.
    package var maxVersion: TLSVersion?

    /// The accepted versions; empty ranges are rejected when a module is read.
    var versions: ClosedRange<TLSVersion> {
        let highest = self.maxVersion ?? .v1_3
        return min(self.minVersion ?? .v1_2, highest)...highest
    }

    /// The system's authorities and no client certificate.
    package init() {}

    /// True if there is a client certificate.
    var hasIdentity: Bool { self.certificate != nil || self.certificateFile != nil }
}

/// The authorization of a probe's requests.
package enum ProbeAuthorization: Sendable, Hashable {
    /// HTTP's Basic scheme (RFC 7617).
    case basic(user: Secret, password: Secret)
    /// A scheme with a token (RFC 6750): `Bearer`.
    case token(scheme: String, Secret)
}

/// A secret, given in the configuration or in a file that is read for every probe.
package enum Secret: Sendable, Hashable {
    case text(String)
    case file(String)
}
