/// Decides which connections a listener keeps when there are too many.
///
/// A connection that waits for its client gives way to a new one: the longest-waiting connection of the peer with the
/// most such connections. A connection that is being answered stays, unless its client does not read.
struct ConnectionPlaces: Sendable {
    /// A new connection, and the connection that it replaces.
    struct Admission: Sendable, Hashable {
        let number: UInt64
        let closing: UInt64?
    }

    private struct Place {
        let peer: PeerAddress
        /// When the client's turn began, because its request is due or it does not read its response; nil during the
        /// server's turn.
        var since: UInt64?
        /// True if every response has been sent and nothing has arrived since.
        var hasCompleted = false
    }

    /// The maximum number of places; connections above a new limit keep theirs.
    var limit: Int
    private var places: [UInt64: Place] = [:]
    private var counts: [PeerAddress: Int] = [:]
    // The peers whose last request completed, oldest first.
    private var proven: [PeerAddress] = []
    private var step: UInt64 = 0

    private static let maxProven = 64

    /// At most `limit` places: eight are reserved for peers whose last request completed, and a peer has at most a
    /// quarter.
    init(limit: Int) { self.limit = limit }

    private var reserved: Int { min(8, self.limit / 4) }
    private var limitPerPeer: Int { max(1, self.limit / 4) }

    /// The number of places in use.
    var count: Int { self.places.count }

    /// Takes a place for a new connection; nil if every connection that could give way is being answered.
    mutating func admit(_ peer: PeerAddress) -> Admission? {
        let limit = self.proven.contains(peer) ? self.limit : self.limit - self.reserved
        var closing: UInt64?
        if self.counts[peer, default: 0] >= self.limitPerPeer {
            guard let found = self.longestWaiting(of: peer) else { return nil }
            closing = found
        } else if self.places.count >= limit {
            guard let found = self.busiestPeer.flatMap(self.longestWaiting) else { return nil }
            closing = found
        }
        if let closing { self.close(closing) }
        self.step += 1
        self.places[self.step] = Place(peer: peer, since: self.step)
        self.counts[peer, default: 0] += 1
        return Admission(number: self.step, closing: closing)
    }

    /// Records that a request is being answered.
    mutating func answer(_ number: UInt64) { self.begin(number, since: nil) }

    /// Records that the client does not read its response, or has not finished sending a request that was answered.
    mutating func stall(_ number: UInt64) {
        self.step += 1
        self.begin(number, since: self.step)
    }

    private mutating func begin(_ number: UInt64, since step: UInt64?) {
        self.places[number] = self.places[number].map { Place(peer: $0.peer, since: step) }
    }

    /// Records that every response has been sent.
    mutating func complete(_ number: UInt64) {
        guard let peer = self.places[number]?.peer else { return }
        self.step += 1
        self.places[number] = Place(peer: peer, since: self.step, hasCompleted: true)
        self.proven.removeAll { $0 == peer }
        self.proven.append(peer)
        if self.proven.count > Self.maxProven { self.proven.removeFirst() }
    }

    /// Frees a place, unless it is already free.
    mutating func close(_ number: UInt64) {
        guard let place = self.places.removeValue(forKey: number) else { return }
        let left = self.counts[place.peer, default: 1] - 1
        self.counts[place.peer] = left > 0 ? left : nil
        if place.hasCompleted { return }
        self.proven.removeAll { $0 == place.peer }
    }

    private var busiestPeer: PeerAddress? {
        var waiting: [PeerAddress: Int] = [:]
        for place in self.places.values where place.since != nil { waiting[place.peer, default: 0] += 1 }
        return waiting.max { $0.value < $1.value }?.key
    }

    private func longestWaiting(of peer: PeerAddress) -> UInt64? {
        // Only the time counts: sparing stalled connections would drop a newly opened one before its request arrives.
        let found = self.places.compactMap { number, place in
            place.peer == peer ? place.since.map { (number: number, since: $0) } : nil
        }
        return found.min { $0.since < $1.since }?.number
    }
}
