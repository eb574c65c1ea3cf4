internal import TidegateCore

/// The sockets that other processes of Tidegate have announced as theirs, by the users of these processes.
struct AnnouncedSockets {
    /// How long they are kept beyond the end of their connections, or without one.
    static let lifetime = Duration.seconds(60)
    /// The limits of sockets for each user, where the oldest make room, and of users.
    static let (limit, userLimit) = (4096, 64)

    // Root's and the daemon's own, whose announcements hold for sockets without a known user.
    private let trusted: Set<UInt32>
    private var users: [UInt32: [UInt64: MonotonicTime]] = [:]

    init(ownUser: UInt32 = 0) { self.trusted = [0, ownUser] }

    /// A process of a user has announced a socket.
    mutating func insert(_ cookie: UInt64, of user: UInt32, at now: MonotonicTime) {
        guard cookie != 0, self.users[user] != nil || self.users.count < Self.userLimit else { return }
        if let sockets = self.users[user], sockets.count >= Self.limit {
            // An eighth at a time, because looking for them takes as long as for one.
            let oldest = sockets.sorted { $0.value < $1.value }.prefix(Self.limit / 8)
            for (cookie, _) in oldest { self.users[user]?[cookie] = nil }
        }
        self.users[user, default: [:]][cookie] = now
    }

    /// Whether a process of the socket's user has announced it.
    ///
    /// If the socket's user is not known, only root's and the daemon's own processes count.
    func contains(_ cookie: UInt64, of user: UInt32?) -> Bool {
        let senders = user.map { [$0] } ?? self.trusted
        return senders.contains { self.users[$0]?[cookie] != nil }
    }

    /// Forgets those that were announced long ago and whose connections are not among `live`.
    mutating func expire(at now: MonotonicTime, live: ConnectionTable) {
        self.users = self.users.compactMapValues { sockets in
            let kept = sockets.filter { now - $1 < Self.lifetime || live.contains($0) }
            return kept.isEmpty ? nil : kept
        }
    }
}
