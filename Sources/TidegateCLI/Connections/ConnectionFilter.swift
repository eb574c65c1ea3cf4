internal import TidegateCore

/// Which remotes `connections` shows.
struct ConnectionFilter: Sendable, Hashable {
    /// Those of a network; nil for all.
    var network: IPPrefix?
    /// Those of a port; nil for all.
    var port: UInt16?
    /// Those of a configured target; nil for all.
    var target: String?
    /// Those of an address family; nil for both.
    var family: AddressFamily?
    /// Only those with connections that hang.
    var isStalled = false
    /// Only those with connections that failed in the last five minutes.
    var isFailed = false

    /// The report with the remotes that are wanted.
    func apply(to report: ConnectionsReport) -> ConnectionsReport {
        var report = report
        report.remotes = report.remotes.filter(self.includes)
        return report
    }

    private func includes(_ report: RemoteReport) -> Bool {
        if let network, !network.contains(report.remote.address.withoutZone) { return false }
        if let port, report.remote.port != port { return false }
        if let target, report.target != target { return false }
        if let family, report.remote.address.family != family { return false }
        if self.isStalled, report.stalledCount == 0 { return false }
        return !self.isFailed || report.outcomes.contains { $0.key.isFailure && $0.value > 0 }
    }
}
