internal import TidegateAttribution
internal import TidegateCore

/// The remotes that reset connections of this host's programs a moment ago, by the gateway on the way to them.
///
/// A middlebox that forgets its connections resets those of many remotes at once. Connections that remotes opened say
/// nothing of it, because clients reset them as they like; nor do those of hosts on this host's own links, to which
/// nobody is between.
struct RecentResets {
    private struct Reset {
        let address: IPAddress
        let moment: MonotonicTime
    }

    private static let hopLimit = 256

    // The last of each next hop, as many as decide.
    private var resets: [NextHop: [Reset]] = [:]

    /// A remote behind a next hop reset a connection.
    mutating func add(_ remote: Remote, behind nextHop: NextHop, at moment: MonotonicTime) {
        guard remote.direction == .outgoing, nextHop.gateway != nil else { return }
        if self.resets[nextHop] == nil, self.resets.count >= Self.hopLimit {
            self.resets = self.resets.filter { _, resets in resets.contains { Self.isRecent($0, at: moment) } }
        }
        var resets = self.resets[nextHop] ?? []
        resets.removeAll { $0.address == remote.address }
        resets.append(Reset(address: remote.address, moment: moment))
        self.resets[nextHop] = resets.suffix(Thresholds.manyResets)
    }

    /// How many remotes behind a next hop reset connections within the second before `moment`; as many as decide.
    func count(behind nextHop: NextHop, at moment: MonotonicTime) -> Int {
        self.resets[nextHop]?.count { Self.isRecent($0, at: moment) } ?? 0
    }

    private static func isRecent(_ reset: Reset, at moment: MonotonicTime) -> Bool {
        moment < reset.moment + Thresholds.resetWindow
    }
}
