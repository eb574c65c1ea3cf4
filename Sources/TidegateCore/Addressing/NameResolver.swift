/// Why a name gave no address.
public enum ResolveFailure: String, Error, Sendable, CaseIterable, Hashable {
    /// The name does not exist or has no address (EAI_NONAME, EAI_NODATA).
    case nameNotFound
    /// No answer in time, or a temporary failure (EAI_AGAIN).
    case timedOut
    /// The resolver answered with a failure, or could not be queried.
    case failed

    /// The reason as a verdict gives it.
    package var reason: UnreachableReason {
        switch self {
        case .nameNotFound: .nameNotFound
        case .timedOut: .resolverTimeout
        case .failed: .resolverFailed
        }
    }
}

/// Resolves names; one look-up serves every caller that needs the same name in the meantime.
public protocol NameResolver: Sendable {
    /// Resolves `name` and calls `completion` once, on a thread of the resolver's or, from the cache, on the caller's.
    ///
    /// A successful answer has at least one address, in the order of RFC 6724 (`getaddrinfo(3)`). A literal address
    /// resolves to itself.
    func resolve(_ name: String, completion: @escaping @Sendable (Result<[IPAddress], ResolveFailure>) -> Void)

    /// The last good answer for `name`, however old; nil if there never was one.
    func cached(_ name: String) -> [IPAddress]?

    /// Expires every cached answer: the next look-up of any name goes to the network. Called when the path has changed.
    func invalidate()

    /// Finds out how long the last good answer for `name` still holds; nil if that is not known.
    ///
    /// Within ``DNSTTL/bounds``. It may take a query to a server, so callers that need only addresses do not use it.
    /// `completion` is called once, on a thread of the resolver's or on the caller's.
    func timeToLive(of name: String, completion: @escaping @Sendable (Duration?) -> Void)
}

extension NameResolver {
    /// Gives nil: the resolver does not know how long its answers stay valid.
    public func timeToLive(of name: String, completion: @escaping @Sendable (Duration?) -> Void) { completion(nil) }
}

/// How long an answer about a name is used.
package enum DNSTTL {
    /// If the answer itself does not say: a minute.
    package static let unknown = Duration.seconds(60)
    /// Below, queries would be frequent for little gain; above, a mistake would last.
    package static let bounds = Duration.seconds(5)...Duration.seconds(3600)

    /// A time to live within the bounds.
    package static func clamped(_ duration: Duration) -> Duration {
        min(max(duration, self.bounds.lowerBound), self.bounds.upperBound)
    }
}
