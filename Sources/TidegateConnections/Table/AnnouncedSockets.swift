internal import TidegateCore

/// The sockets that other Tidegate processes have announced as their own, by the users of these processes.
struct AnnouncedSockets {
    /// How long a socket is kept without a live connection.
    static let lifetime = Duration.seconds(60)
    /// The maximum number of sockets per user, beyond which the oldest are dropped, and of users.
    static let (limit, userLimit) = (4096, 64)

    // Root and the daemon's own user, whose announcements also hold for sockets of unknown users.
    private let trusted: Set<UInt32>
    private var users: [UInt32: [UInt64: MonotonicTime]] = [:]

    init(ownUser: UInt32 = 0) { self.trusted = [0, ownUser] }

    /// Records that a process of a user announced a socket.
    mutating func insert(_ cookie: UInt64, of user: UInt32, at now: MonotonicTime) {
        guard cookie != 0, self.users[user] != nil || self.users.count < Self.userLimit else { return }
        if let sockets = self.users[user], sockets.count >= Self.limit {
            // An eighth at a time, because finding them takes as long as finding one.
            let oldest = sockets.sorted { $0.value < $1.value }.prefix(Self.limit / 8)
            for (cookie, _) in oldest { self.users[user]?[cookie] = nil }
        }
        self.users[user, default: [:]][cookie] = now
    }

    /// Whether a process of the socket's user has announced it.
    ///
    /// If the socket's user is unknown, only processes of root and of the daemon's own user count.
    func contains(_ cookie: UInt64, of user: UInt32?) -> Bool {
        let senders = user.map { [$0] } ?? self.trusted
        return senders.contains { self.users[$0]?[cookie] != nil }
    }

    /// Drops the old announcements whose connections are not in `live`.
    mutating func expire(at now: MonotonicTime, live: ConnectionTable) {
        self.users = self.users.compactMapValues { sockets in
            let kept = sockets.filter { now - $1 < Self.lifetime || live.contains($0) }
            return kept.isEmpty ? nil : kept
        }
    }
}
