internal import TidegateCore

/// Who could be reached on which path lately: the evidence that others give about a failure.
///
/// One row for each target, kept in place, so that a success costs a look-up and no memory.
struct PeerHistory {
    /// The way that packets took; a renamed interface is the same way.
    struct Way: Hashable {
        let index: UInt32
        let generation: UInt32
        let gateway: IPAddress?
        let source: IPAddress?

        init(_ path: NetworkPath) {
            self.index = path.index
            self.generation = path.generation
            self.gateway = path.gateway
            self.source = path.source
        }
    }

    private struct Row {
        var way: Way
        var isReached: Bool
        var moment: MonotonicTime
    }

    /// How long evidence counts.
    static let life = Duration.seconds(30)
    /// How many targets are remembered; one more is not, until others are old.
    static let capacity = 512

    private var rows: [UInt64: Row] = [:]

    /// Targets remembered.
    var count: Int { self.rows.count }

    /// A target was reached on a way, or could not be; only the last word counts.
    mutating func note(_ target: UInt64, on way: Way, isReached: Bool, at now: MonotonicTime) {
        let row = Row(way: way, isReached: isReached, moment: now)
        if self.rows.count >= PeerHistory.capacity, self.rows[target] == nil {
            self.rows = self.rows.filter { now - $0.value.moment <= PeerHistory.life }
            guard self.rows.count < PeerHistory.capacity else { return }
        }
        self.rows[target] = row
    }

    /// What became of others on the same way lately.
    func peers(of target: UInt64, on way: Way, at now: MonotonicTime) -> PeerEvidence {
        var evidence = PeerEvidence()
        for (other, row) in self.rows where other != target && row.way == way && now - row.moment <= PeerHistory.life {
            if row.isReached { evidence.reached += 1 } else { evidence.missed += 1 }
        }
        return evidence
    }
}
