/// Why a name gave no address.
public enum ResolveFailure: String, Error, Sendable, CaseIterable, Hashable {
    /// The name does not exist or has no address (EAI_NONAME, EAI_NODATA).
    case nameNotFound
    /// No answer in time, or a temporary failure (EAI_AGAIN).
    case timedOut
    /// The resolver answered with a failure, or could not be asked.
    case failed

    /// The reason as a verdict gives it.
    public var reason: UnreachableReason {
        switch self {
        case .nameNotFound: .nameNotFound
        case .timedOut: .resolverTimeout
        case .failed: .resolverFailed
        }
    }
}

/// Turns names into addresses; one answer serves everybody who asks for the same name meanwhile.
public protocol NameResolver: Sendable {
    /// Resolves `name` and calls `completion` once, on a thread of the resolver's or, from the cache, on the caller's.
    ///
    /// A successful answer has at least one address, in the order of RFC 6724 (`getaddrinfo(3)`). A literal address
    /// resolves to itself.
    func resolve(_ name: String, completion: @escaping @Sendable (Result<[IPAddress], ResolveFailure>) -> Void)

    /// The last good answer for `name`, however old; nil where there never was one.
    func cached(_ name: String) -> [IPAddress]?

    /// Forgets freshness: the next question for any name goes to the network. Called when the path has changed.
    func invalidate()

    /// Tells how long the last good answer for `name` still holds; nil where nobody knows.
    ///
    /// Within ``DNSTTL/bounds``. It may take a question to a server, so whoever needs only addresses does not ask.
    /// `completion` is called once, on a thread of the resolver's or on the caller's.
    func timeToLive(of name: String, completion: @escaping @Sendable (Duration?) -> Void)
}

extension NameResolver {
    /// Nobody knows.
    public func timeToLive(of name: String, completion: @escaping @Sendable (Duration?) -> Void) { completion(nil) }
}

/// How long an answer about a name is taken for true.
public enum DNSTTL {
    /// Where the answer itself does not say: a minute.
    public static let unknown = Duration.seconds(60)
    /// Below, asking would cost more than it tells; above, a mistake would last.
    public static let bounds = Duration.seconds(5)...Duration.seconds(3600)

    /// A time to live within the bounds.
    public static func clamped(_ duration: Duration) -> Duration {
        min(max(duration, self.bounds.lowerBound), self.bounds.upperBound)
    }
}
