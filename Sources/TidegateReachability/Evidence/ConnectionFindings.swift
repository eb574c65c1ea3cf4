internal import TidegateAttribution
internal import TidegateCore

/// What connections of other programs prove about a path.
struct ConnectionFindings: Sendable, Hashable {
    /// The number of remotes behind the same next hop that answered recently, without the path's own end.
    var answering = 0
    /// The remote that answered last.
    var remote: IPAddress?
    /// Whether connections to other remotes behind the same next hop hang.
    var isAnySilent = false
    /// Whether the path's own end answered recently, on any port.
    var isEndAnswering = false
    /// The connections to the path's own end and port.
    var toTarget: [RemoteReport] = []

    /// What other programs' connections prove about the path; nil if they prove nothing.
    var witness: Witness? {
        if self.isEndAnswering { return Witness(.connection, .destination) }
        if let remote = self.remote { return Witness(.connection, .beyond(remote)) }
        return self.isAnySilent ? Witness(.connection, .nothing) : nil
    }
}

/// The remotes of a report that can be evidence about the path to one address.
struct PathRemotes: Sendable, Hashable {
    private let reports: [RemoteReport]
    private let subject: IPAddress
    private let window: Duration
    // Whether live connections were listed since the path was first used: an older list does not show which remotes
    // answer.
    private let isCurrent: Bool

    /// The remotes of the same family in a report; for a public address, only public remotes count.
    ///
    /// Answers count within `window`, the time since the path was first used: an earlier success may no longer be
    /// valid.
    init(_ report: ConnectionsReport, for subject: IPAddress, within window: Duration) {
        self.subject = subject.withoutZone
        self.window = min(window, Thresholds.answerAge)
        self.isCurrent = report.listed.map { $0 <= window } ?? false
        self.reports = report.remotes.filter { remote in
            let address = remote.remote.address
            return address.family == subject.family && (address.isGlobal || !subject.isGlobal)
        }
    }

    /// The remotes that answered recently, the latest first.
    var answering: [IPAddress] {
        let answering = self.reports.filter { !self.isSubject($0) && self.answersNow($0) }
        return self.unique(answering.sorted { ($0.answered ?? .zero) < ($1.answered ?? .zero) })
    }

    /// The remotes whose connections hang and that do not answer otherwise.
    var silent: [IPAddress] {
        guard self.isCurrent else { return [] }
        let answering = Set(self.answering)
        let hanging = self.reports.filter { remote in
            !self.isSubject(remote) && remote.stalled.contains { $0.key != .window && $0.value > 0 }
        }
        return self.unique(hanging).filter { !answering.contains($0) }
    }

    /// Whether the address itself answered recently.
    var isSubjectAnswering: Bool { self.reports.contains { self.isSubject($0) && self.answersNow($0) } }

    /// The connections that programs of this host opened to the address or to `others`; on any port if `port` is nil.
    func opened(or others: [IPAddress], port: UInt16?) -> [RemoteReport] {
        let wanted = Set(others.map(\.withoutZone) + [self.subject])
        return self.reports.filter { remote in
            remote.remote.direction == .outgoing && wanted.contains(remote.remote.address.withoutZone)
                && (port == nil || remote.remote.port == nil || remote.remote.port == port)
        }
    }

    private func isSubject(_ report: RemoteReport) -> Bool { report.remote.address.withoutZone == self.subject }

    private func answersNow(_ report: RemoteReport) -> Bool { report.answered.map { $0 < self.window } ?? false }

    private func unique(_ reports: [RemoteReport]) -> [IPAddress] {
        var seen: Set<IPAddress> = []
        return reports.map(\.remote.address).filter { seen.insert($0).inserted }
    }
}
