internal import HTTPTypes
internal import HummingbirdCore

/// Whether a request is allowed, and what its response carries.
struct AuthorizationDecision: Sendable {
    /// Why a request is denied.
    enum Denial: Sendable, Hashable {
        /// Requests come too fast; after this time the next is allowed.
        case rateLimited(retryAfter: Duration)
        /// The request has no credentials, or wrong ones.
        case unauthenticated
        /// Too many passwords wait to be hashed.
        case busy
    }

    /// Header fields of the response.
    var headers: [HTTPField] = []
    /// Why the request is denied; nil if it is allowed.
    var denial: Denial?
    /// True if the client had to show who it is, and has.
    var isAuthenticated = false

    /// The response to a denied request; nil if it is allowed.
    var problem: ProblemDocument? {
        switch self.denial {
        case nil: return nil
        case .rateLimited(let wait):
            let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
            var problem = ProblemDocument(.tooManyRequests, "Too many requests.")
            problem.headers[.retryAfter] = String(max(1, seconds))
            return problem
        case .unauthenticated:
            var problem = ProblemDocument(.unauthorized, "Authentication required.")
            problem.headers[.wwwAuthenticate] = "Basic realm=\"tidegate\", charset=\"UTF-8\""
            return problem
        case .busy: return .unavailable("Too many passwords to verify.", retryAfter: 1)
        }
    }
}
