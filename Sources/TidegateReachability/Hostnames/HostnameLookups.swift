internal import TidegateCore

/// Resolves the names of targets; results arrive through the completions, on any thread.
final class HostnameLookups {
    private let resolver: any NameResolver
    /// Receives the addresses of a name, or why there are none.
    var didResolve: @Sendable (String, Result<[IPAddress], ResolveFailure>) -> Void = { _, _ in }
    /// Receives how long the last answer about a name is valid.
    var didFindTTL: @Sendable (String, Duration) -> Void = { _, _ in }

    init(_ resolver: any NameResolver) { self.resolver = resolver }

    /// The addresses of a target's name from before; nil if there are none, or if the host is an address.
    func cached(_ target: Target) -> [IPAddress]? {
        target.address == nil ? self.resolver.cached(target.host) : nil
    }

    /// Resolves each name once.
    func resolve(_ names: [String]) {
        for name in names {
            self.resolver.resolve(name) { [didResolve] in didResolve(name, $0) }
        }
    }

    /// Finds out how long the last answer about a name is valid.
    func findTTL(of name: String) {
        self.resolver.timeToLive(of: name) { [didFindTTL] in
            if let timeToLive = $0 { didFindTTL(name, timeToLive) }
        }
    }

    /// Makes every name be resolved by the network again.
    func invalidate() { self.resolver.invalidate() }
}
