internal import TidegateCore

/// The path that an attempt takes.
struct AttemptPath {
    /// What was known of the target when the attempt began.
    private let known: KnownVerdict?
    private var connection = Connection.none
    /// Why nothing goes out, while the path is lost and not yet given up: `no path: eth0 has no carrier`.
    var stall: String?
    /// When the path came back within the grace.
    var returned: MonotonicTime?

    init(_ known: KnownVerdict?) { self.known = known }

    /// The verdict when the attempt began, without the path if that led to the resolvers.
    var before: Verdict { self.known?.ownVerdict ?? .unknown }

    /// Where its packets go; nil while unknown.
    var current: NetworkPath? {
        switch self.connection {
        case .none: self.known?.ownVerdict.path
        case .made(let path): path
        }
    }

    /// The attempt has a connection; `path` is nil if nothing is known of the connection's address.
    mutating func connected(on path: NetworkPath?) { self.connection = .made(path) }

    /// What is known of the connection's address by now.
    mutating func learned(_ path: NetworkPath?) {
        if case .made(nil) = self.connection { self.connection = .made(path) }
    }

    private enum Connection {
        case none
        case made(NetworkPath?)
    }
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
    mutating func isStale(by newest: KnownVerdict, generation: Int, grace: Duration, at now: MonotonicTime) -> Bool {
        let verdict = newest.ownVerdict
        guard verdict.level != .unknown else { return false }
        guard verdict.level >= .routed else {
            if self.lostSince == nil { self.lostSince = now }
            return false
        }
        let outage = self.lostSince.map { now - $0 } ?? .zero
        self.lostSince = nil
        guard let known = self.known, self.generation == generation else { return false }
        if let used = known.ownVerdict.path, let path = verdict.path {
            return !used.isSamePath(as: path) || outage > grace
        }
        self.known = newest
        return outage > grace
    }
}
