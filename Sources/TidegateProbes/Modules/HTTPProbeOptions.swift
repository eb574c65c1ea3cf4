package import HTTPTypes
package import TidegateCEL
package import TidegateCore
package import TidegateSession

/// What the prober `http` asks, and what it takes for a success.
package struct HTTPProbeOptions: Sendable, Hashable {
    package var method = "GET"
    package var headers: [HTTPField] = []
    /// Fields that may be secrets.
    package var secretHeaders: [SecretHeader] = []
    package var body: ProbeBody?
    package var followsRedirects = true
    package var allowsHTTP2 = true
    package var family = FamilyPreference()
    package var source = ProbeSource()
    package var tls = ProbeTLSOptions()
    package var authorization: ProbeAuthorization?
    /// How an access token is asked for; nil asks for none.
    package var oauth2: OAuth2Options?
    package var proxy = ProxyPolicy.direct
    /// Fields that only a proxy sees, with CONNECT.
    package var proxyHeaders: [SecretHeader] = []
    /// Whether names are left to the proxy, if there is one.
    package var skipsResolveWithProxy = false

    /// Whether every status is a success.
    package var acceptsAnyStatus = false
    /// The statuses that are a success; empty for 200 to 299.
    package var validStatuses: [Int] = []
    /// The protocols that are a success, as `HTTP/1.1` or `HTTP/2.0`; empty for every one.
    package var validVersions: [String] = []
    package var failsIfTLS = false
    package var failsIfNotTLS = false
    package var failsIfBodyMatches: [RegularExpression] = []
    package var failsIfBodyDoesNotMatch: [RegularExpression] = []
    /// An expression that must not be true of the body, a JSON document.
    package var failsIfJSONMatches: CELExpression?
    /// One that must be.
    package var failsIfJSONDoesNotMatch: CELExpression?
    package var failsIfHeaderMatches: [HeaderCondition] = []
    package var failsIfHeaderDoesNotMatch: [HeaderCondition] = []
    /// How bodies are encoded; nil takes them as they come.
    package var coding: BodyCoding?
    /// How many bytes a body may have, decoded; nil is no limit.
    package var maxBodyBytes: Int?

    /// blackbox_exporter's defaults.
    package init() {}

    /// True for a method that changes nothing (RFC 9110 9.2.1).
    static func isSafe(_ method: String) -> Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method) }

    /// True if bodies are looked into.
    var examinesBody: Bool {
        !self.failsIfBodyMatches.isEmpty || !self.failsIfBodyDoesNotMatch.isEmpty || self.examinesJSON
    }

    /// True if bodies have to be JSON.
    var examinesJSON: Bool { self.failsIfJSONMatches != nil || self.failsIfJSONDoesNotMatch != nil }

    /// The value of the header field Host; nil without one.
    var hostHeader: String? { self.headers.last { $0.name.canonicalName == "host" }?.value }
}

/// A condition on the values of a header field.
package struct HeaderCondition: Sendable, Hashable {
    package var name: HTTPField.Name
    package var pattern: RegularExpression
    /// Whether a response without the field passes.
    package var allowsMissing: Bool

    /// A condition from its parts.
    package init(name: HTTPField.Name, pattern: RegularExpression, allowsMissing: Bool = false) {
        self.name = name
        self.pattern = pattern
        self.allowsMissing = allowsMissing
    }
}

/// What a request of a probe carries.
package enum ProbeBody: Sendable, Hashable {
    case text(String)
    /// The content of a file, read for every probe.
    case file(String)
}

/// What certificates a probe trusts, and what it shows.
package struct ProbeTLSOptions: Sendable, Hashable {
    /// A PEM file of authorities; nil for the system's.
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    /// Authorities in PEM, in place of a file.
    package var ca: String?
    /// The certificate that is shown, in PEM, in place of a file.
    package var certificate: String?
    /// Its key, in PEM, in place of a file; a secret.
    package var key: String?
    /// The name that the certificate has to be for; nil for the target's.
    package var serverName: String?
    package var isInsecure = false
    /// The lowest version that is spoken; nil for TLS 1.2, or ``maxVersion`` if that is lower.
    package var minVersion: TLSVersion?
    /// The highest; nil for TLS 1.3.
    package var maxVersion: TLSVersion?

    /// The versions that are spoken; empty ranges are refused when a module is read.
    var versions: ClosedRange<TLSVersion> {
        let highest = self.maxVersion ?? .v1_3
        return min(self.minVersion ?? .v1_2, highest)...highest
    }

    /// The system's authorities.
    package init() {}

    /// True if a certificate is shown.
    var hasIdentity: Bool { self.certificate != nil || self.certificateFile != nil }
}

/// What a probe's requests are authorized with.
package enum ProbeAuthorization: Sendable, Hashable {
    /// HTTP's Basic scheme (RFC 7617).
    case basic(user: Secret, password: Secret)
    /// A scheme with a token (RFC 6750): `Bearer`.
    case token(scheme: String, Secret)
}

/// A secret: in the configuration, or in a file that is read for every probe.
package enum Secret: Sendable, Hashable {
    case text(String)
    case file(String)
}
