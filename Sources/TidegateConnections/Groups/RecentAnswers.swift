internal import TidegateCore

/// Which remotes behind each next hop answered last.
///
/// Every connection that fails asks it, of which there are thousands at once: the table of remotes is gone through once for
/// those of a moment.
struct RecentAnswers {
    private struct Answer {
        let address: IPAddress
        let moment: MonotonicTime
    }

    private static let lifetime = Duration.milliseconds(10)

    // The last two remotes of each next hop, so that there is another one for whoever asks.
    private var answers: [NextHop: [Answer]] = [:]
    private var read: MonotonicTime?

    /// When another remote than `address` behind `nextHop` answered last; nil if none did.
    mutating func latest(
        behind nextHop: NextHop, besides address: IPAddress, _ remotes: RemoteTable, _ routes: RouteCache,
        at now: MonotonicTime
    ) -> MonotonicTime? {
        if self.read.map({ now - $0 >= Self.lifetime }) ?? true {
            self.read = now
            self.read(remotes, routes)
        }
        return self.answers[nextHop]?.filter { $0.address != address }.map(\.moment).max()
    }

    private mutating func read(_ remotes: RemoteTable, _ routes: RouteCache) {
        self.answers = [:]
        for (remote, entry) in remotes.entries {
            guard let moment = entry.answered, let nextHop = routes.nextHop(to: remote.address) else { continue }
            self.add(Answer(address: remote.address, moment: moment), behind: nextHop)
        }
    }

    private mutating func add(_ answer: Answer, behind nextHop: NextHop) {
        var latest = self.answers[nextHop] ?? []
        if let same = latest.firstIndex(where: { $0.address == answer.address }) {
            guard latest[same].moment < answer.moment else { return }
            latest.remove(at: same)
        }
        latest.append(answer)
        latest.sort { $0.moment > $1.moment }
        self.answers[nextHop] = Array(latest.prefix(2))
    }
}
