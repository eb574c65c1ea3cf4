internal import TidegateCore

/// The path that an attempt takes.
struct AttemptPath {
    /// What was known of the target when the attempt began.
    private let known: KnownVerdict?
    /// The path of the attempt's connection; nil until there is one.
    private var own: NetworkPath?
    /// Why nothing goes out, while the path is lost and not yet given up: `no path: eth0 has no carrier`.
    var stall: String?
    /// When the path came back within the grace.
    var returned: MonotonicTime?

    init(_ known: KnownVerdict?) { self.known = known }

    /// The verdict when the attempt began.
    var before: Verdict { self.known?.verdict.verdict ?? .unknown }

    /// Where its packets go; nil while unknown.
    var current: NetworkPath? { self.own ?? self.known?.verdict.verdict.path }

    mutating func connected(on path: NetworkPath) { self.own = path }
}

/// The path on which the pool's connections to a target were made, and since when it is lost.
struct PooledPath {
    /// What was known of the target when the last attempt was launched.
    private var known: KnownVerdict?
    /// The connection pool's generation then.
    private var generation = 0
    /// Since when no path leads to the target; nil while one does.
    private var lostSince: MonotonicTime?

    /// An attempt of this pool's was launched.
    mutating func launched(knowing known: KnownVerdict?, generation: Int) {
        self.known = known
        self.generation = generation
    }

    /// A new pool began, which has no connections.
    mutating func forget() { self.known = nil }

    /// True if the pool's idle connections are lost with their path; notes when the path is lost and back.
    mutating func isStale(by verdict: Verdict, generation: Int, grace: Duration, at now: MonotonicTime) -> Bool {
        guard verdict.level != .unknown else { return false }
        guard verdict.level >= .routed, let path = verdict.path else {
            if self.lostSince == nil { self.lostSince = now }
            return false
        }
        let outage = self.lostSince.map { now - $0 } ?? .zero
        self.lostSince = nil
        guard let used = self.known?.verdict.verdict.path, self.generation == generation else { return false }
        return !used.isSamePath(as: path) || outage > grace
    }
}
