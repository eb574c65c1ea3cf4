internal import TidegateCore

extension ConnectionsReport {
    /// What is known of the connections now.
    init(_ state: ObservationState, _ mode: ObservationMode, _ reason: String?, at now: MonotonicTime) {
        let remotes = state.remotes.entries.map { remote, entry in
            var report = entry.report(of: remote, at: now)
            report.target = state.targets.name(of: remote)
            return report
        }
        let statistics = state.recorder.statistics
        self.init()
        (self.mode, self.reason) = (mode, reason)
        self.remotes = remotes.sorted(by: Self.isBefore)
        self.dropped = statistics.dropped
        self.unexplained = statistics.unexplained.values.reduce(0, +)
        self.listed = state.groups.lastList.map { now - $0 }
    }

    // Those that hang first, then those with the most connections; alike ones always in the same order.
    private static func isBefore(_ left: RemoteReport, _ right: RemoteReport) -> Bool {
        let (one, two) = ((left.stalledCount, left.connectionCount), (right.stalledCount, right.connectionCount))
        guard one == two else { return one > two }
        return "\(left.remote)" < "\(right.remote)"
    }
}

extension RemoteEntry {
    fileprivate func report(of remote: Remote, at now: MonotonicTime) -> RemoteReport {
        var report = RemoteReport(remote)
        report.connecting = self.counts[.connecting] ?? 0
        report.established = self.counts[.established] ?? 0
        report.closing = self.counts[.closing] ?? 0
        report.stalled = self.stalled
        report.party = self.isStalled ? self.party : nil
        report.nextTry = self.isStalled ? self.nextTry.map { max(.zero, $0 - now) } : nil
        report.shortestRoundTrip = self.shortestRoundTrip
        report.sentSegments = self.sentSegments
        report.retransmittedSegments = self.retransmittedSegments
        report.answered = self.answered.map { now - $0 }
        report.outcomes = self.outcomes.counts(at: now)
        report.failures = self.outcomes.failures(at: now)
        report.history = self.outcomes.history(at: now)
        report.owners = self.owners.all
        return report
    }
}
