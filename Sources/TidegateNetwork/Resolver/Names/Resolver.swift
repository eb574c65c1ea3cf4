package import TidegateCore

/// Resolves names, at most eight at a time; concurrent requests for a name share one lookup, and answers are cached.
///
/// libcurl and glibc would start a thread for every lookup; here the threads are limited and named `tg-dns-N`.
package final class Resolver: NameResolver {
    /// Looks a name up; blocks.
    package typealias Lookup = @Sendable (String) -> Result<[IPAddress], ResolveFailure>

    private let queue: LookupQueue
    private let ttlLookup: TTLLookup?

    /// A resolver that looks up at most `limit` names at a time and caches `capacity` of them.
    ///
    /// An answer is valid for the time to live that `ttlLookup` finds; without one, for `freshness`.
    package init(
        time: any TimeSource, freshness: Duration = DNSTTL.unknown, limit: Int = 8, capacity: Int = 16_384,
        ttlLookup: TTLLookup? = nil, lookup: Lookup? = nil
    ) {
        self.ttlLookup = ttlLookup
        self.queue = LookupQueue(
            time: time, freshness: freshness, limit: max(1, limit), capacity: max(1, capacity),
            lookup: lookup ?? SystemLookup.resolve)
    }

    // A thread inside getaddrinfo cannot be interrupted, so this does not wait for it.
    deinit { self.queue.close() }

    package func resolve(
        _ name: String, completion: @escaping @Sendable (Result<[IPAddress], ResolveFailure>) -> Void
    ) {
        if let address = IPAddress(name) { return completion(.success([address])) }
        self.queue.lookUp(name, completion)
    }

    package func cached(_ name: String) -> [IPAddress]? {
        IPAddress(name).map { [$0] } ?? self.queue.cached(name)
    }

    package func invalidate() {
        self.queue.invalidate()
        self.ttlLookup?.invalidate()
    }

    package func timeToLive(of name: String, completion: @escaping @Sendable (Duration?) -> Void) {
        guard let ttlLookup = self.ttlLookup, let answer = self.queue.cachedAnswer(for: name) else {
            return completion(nil)
        }
        if let remaining = answer.remainingTTL { return completion(DNSTTL.clamped(remaining)) }
        ttlLookup.find(name, answer.addresses) { [queue = self.queue] ttl in
            if let ttl { queue.recordTTL(ttl, of: answer, for: name) }
            completion(ttl)
        }
    }
}
