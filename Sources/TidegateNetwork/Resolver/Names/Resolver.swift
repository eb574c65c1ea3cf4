package import TidegateCore

/// Resolves a name once for all who ask, at most eight names at a time, and remembers good answers.
///
/// libcurl and glibc would start a thread for every question; here the threads are counted and named `tg-dns-N`.
package final class Resolver: NameResolver {
    /// Asks the network; blocks.
    package typealias Lookup = @Sendable (String) -> Result<[IPAddress], ResolveFailure>

    private let desk: LookupQueue
    private let lives: TTLLookup?

    /// A resolver that trusts an answer for `freshness` while nobody knows better, asks at most `limit` names at a time
    /// and remembers `capacity`.
    ///
    /// How long answers are good for it learns from `lives`; without, nobody knows.
    package init(
        time: any TimeSource, freshness: Duration = DNSTTL.unknown, limit: Int = 8, capacity: Int = 16_384,
        lives: TTLLookup? = nil, lookup: Lookup? = nil
    ) {
        self.lives = lives
        self.desk = LookupQueue(
            time: time, freshness: freshness, limit: max(1, limit), capacity: max(1, capacity),
            lookup: lookup ?? SystemLookup.resolve)
    }

    // A thread inside getaddrinfo cannot be hurried, so nobody waits for it.
    deinit { self.desk.close() }

    package func resolve(
        _ name: String, completion: @escaping @Sendable (Result<[IPAddress], ResolveFailure>) -> Void
    ) {
        if let address = IPAddress(name) { return completion(.success([address])) }
        self.desk.ask(name, completion)
    }

    package func cached(_ name: String) -> [IPAddress]? {
        IPAddress(name).map { [$0] } ?? self.desk.cached(name)
    }

    package func invalidate() {
        self.desk.invalidate()
        self.lives?.invalidate()
    }

    package func timeToLive(of name: String, completion: @escaping @Sendable (Duration?) -> Void) {
        guard let lives = self.lives, let answer = self.desk.fresh(name) else { return completion(nil) }
        if let rest = answer.knownRest { return completion(DNSTTL.clamped(rest)) }
        lives.learn(name, answer.addresses) { [desk = self.desk] life in
            if let life { desk.lasts(name, answer, for: life) }
            completion(life)
        }
    }
}
