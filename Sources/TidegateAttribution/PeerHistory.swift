package import TidegateCore

/// Which targets could be reached on which path recently: the evidence that others give about a failure.
///
/// One row for each target, updated in place, so that a success costs a look-up and no memory.
package struct PeerHistory: Sendable {
    private struct Row {
        var path: NetworkPath.Identity
        var isReached: Bool
        var moment: MonotonicTime
    }

    /// The most targets remembered; a further one is left out until others are old.
    package static let capacity = 512

    private var rows: [UInt64: Row] = [:]

    package init() {}

    /// How many targets are remembered.
    package var count: Int { self.rows.count }

    /// Records whether a target could be reached on a path; the last result of each target counts.
    package mutating func record(
        _ target: UInt64, on path: NetworkPath.Identity, isReached: Bool, at now: MonotonicTime
    ) {
        let row = Row(path: path, isReached: isReached, moment: now)
        if self.rows.count >= PeerHistory.capacity, self.rows[target] == nil {
            self.rows = self.rows.filter { now - $0.value.moment <= Thresholds.evidenceAge }
            guard self.rows.count < PeerHistory.capacity else { return }
        }
        self.rows[target] = row
    }

    /// The results of other targets on the same path, and since a moment, if one is given.
    ///
    /// An answer from before the silence that is to be explained, since `silence`, proves nothing.
    package func peers(
        of target: UInt64, on path: NetworkPath.Identity, at now: MonotonicTime, since start: MonotonicTime? = nil,
        silentSince silence: MonotonicTime? = nil
    ) -> PeerEvidence {
        var evidence = PeerEvidence()
        for (other, row) in self.rows
        where other != target && row.path == path && now - row.moment <= Thresholds.evidenceAge {
            if let start, row.moment < start { continue }
            if row.isReached, let silence, row.moment < silence { continue }
            if row.isReached { evidence.reached += 1 } else { evidence.missed += 1 }
        }
        return evidence
    }
}
