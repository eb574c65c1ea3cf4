package import TidegateCore

/// The targets that were recently reachable on each path: evidence about the failure of another target.
///
/// One row per target, updated in place, so that a success costs one lookup and no memory.
package struct PeerHistory: Sendable {
    private struct Row {
        var path: NetworkPath.Identity
        var isReached: Bool
        var moment: MonotonicTime
    }

    /// The maximum number of targets; further ones are ignored until old rows expire.
    package static let capacity = 512

    private var rows: [UInt64: Row] = [:]

    package init() {}

    /// The number of remembered targets.
    package var count: Int { self.rows.count }

    /// Records whether a target was reachable on a path; the last result of each target counts.
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

    /// Counts the results of other targets on the same path, since `start` if given.
    ///
    /// An answer from before `silence`, the start of the silence to explain, proves nothing.
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
