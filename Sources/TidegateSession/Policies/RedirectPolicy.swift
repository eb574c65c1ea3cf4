/// Which redirects are followed, and what another origin receives (RFC 9110 15.4).
///
/// An origin is a scheme, a host and a port. With every policy but ``free``, another origin gets no credentials, no
/// cookies and no fields of the user's own but those that negotiate, describe the body or ask for a part of it, and a
/// server with a public address cannot lead to loopback, link-local or unspecified addresses and metadata services unless
/// ``SessionConfiguration/allowsPrivateRedirects`` is set. All addresses of a name count; behind a proxy, which resolves names itself, those in URLs and `localhost`.
public enum RedirectPolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// Only redirects to the same origin.
    case sameOrigin = "same-origin"
    /// All redirects except those from https to http.
    case noDowngrade = "no-downgrade"
    /// All redirects, with credentials and every field except Host.
    case free
}
